"""`windrow serve` shows a workspace in a browser."""

from __future__ import annotations

import signal
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import click

from windrow.cli.command import Console, command, option
from windrow.errors import MissingExtra, UsageError

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_BEYOND = "Beyond this machine"


@command("serve", examples=["windrow serve", "windrow serve --port 0 --open"])
@option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Listen at this address.")
@option("--port", type=click.IntRange(0, 65535), default=8470, show_default=True, metavar="N",
        help="Listen at this port; 0 takes a free one.")  # fmt: skip
@option("--open", "opens", is_flag=True, help="Open the first page in a browser.")
@option("--token-file", type=_FILE, metavar="FILE", section=_BEYOND, help="Ask for the token in this file.")
@option("--certificate", type=_FILE, metavar="FILE", section=_BEYOND, help="Use TLS with this certificate (PEM).")
@option("--key", type=_FILE, metavar="FILE", section=_BEYOND, help="The certificate's key (PEM).")
@option("--proxy", default="", metavar="NAME", section=_BEYOND,
        help="A proxy with TLS is in front, and is reached by this name.")  # fmt: skip
@option("--proxy-header", default="", metavar="NAME[: VALUE]", section=_BEYOND,
        help="Let in whom the proxy sends with this header field, without a token.")  # fmt: skip
@option("--proxy-address", default="", metavar="ADDRESS", section=_BEYOND,
        help="The IP address from which the proxy connects, if it is on another machine.")  # fmt: skip
def serve_command(
    console: Console, *, host: str, port: int, opens: bool, token_file: Path | None, certificate: Path | None,
    key: Path | None, proxy: str, proxy_header: str, proxy_address: str,
) -> None:  # fmt: skip
    """Show the workspace in a browser: what needs you, what changed, the story of anything, and a search.

    The first line of the output is the address. Pages only read: they change nothing in the workspace. Ctrl-C ends
    the command. Others than the users of this machine can only reach the pages with a token, and over TLS.
    """
    from windrow.app.listening import Address, ProxyHeader, check_token, listen  # noqa: PLC0415 `--help` needs no server

    if not all(map(find_spec, LIBRARIES)):
        raise MissingExtra("the web view", "web")
    if bool(certificate) != bool(key):
        raise UsageError("a certificate needs its key, and a key its certificate", hint="windrow serve --help")
    token = token_file.read_text(encoding="utf-8").strip() if token_file else ""
    if token_file:
        check_token(token, f"the token in {token_file}")
    if proxy_address and not proxy_header:
        raise UsageError("an address of the proxy is for its header field", hint="windrow serve --proxy-header NAME")
    header = ProxyHeader.read(proxy_header, proxy_address) if proxy_header else None

    def announce(url: str) -> None:
        if console.json:
            console.message("serving", {"url": url})
        else:
            console.print(url)
        sys.stdout.flush()
        if opens:
            click.launch(url)

    workspace, address = console.open(), Address(host, port, token, proxy, certificate, key, header)
    address.require_safe()
    with closing(listen(address)) as listener:
        stops: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda received, _frame: stops.append(received))
        announce(address._replace(port=listener.getsockname()[1]).url)
        # The address can be opened meanwhile: the first request waits for the libraries.
        from windrow.web.server import serve  # noqa: PLC0415

        serve(workspace, address, listener, stops)


LIBRARIES = ("jinja2", "markdown_it", "starlette", "uvicorn")
"""The libraries of the extra `web`."""
