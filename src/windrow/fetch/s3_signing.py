"""Requests to S3-compatible stores, signed (AWS Signature Version 4) by botocore: the extra `s3`."""

from __future__ import annotations

from importlib.util import find_spec

from windrow.errors import MissingExtra, TerminalFailure
from windrow.fetch.secret import reveal
from windrow.model import Secret
from windrow.reasons import Reason


class S3Signer:
    """Signs reading requests with the key at a place, which is written there as `KEY:SECRET` or `KEY:SECRET:TOKEN`."""

    def __init__(self, place: Secret, region: str) -> None:
        """Fetch the key from its place."""
        if find_spec("botocore") is None:
            raise MissingExtra("signing requests to S3", "s3")
        from botocore.auth import S3SigV4Auth  # noqa: PLC0415 an extra
        from botocore.credentials import Credentials  # noqa: PLC0415 an extra

        key, _, rest = reveal(place).strip().partition(":")
        secret, _, token = rest.partition(":")
        if not key or not secret:
            raise TerminalFailure(f"{place.place} does not hold KEY:SECRET", Reason.NO_SECRET)
        self._auth = S3SigV4Auth(Credentials(key, secret, token or None), "s3", region)

    def headers(self, url: str) -> dict[str, str]:
        """Return the headers with which a GET of a URL is signed now."""
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 an extra

        request = AWSRequest("GET", url)
        self._auth.add_auth(request)
        return {str(name): str(value) for name, value in request.headers.items()}
