"""The first harvest beside its peers: transfers, XSD, and the whole pipeline with its memory.

Each line: ours, the peer's, the ratio (above 1 is ahead of the peer), the goal. A peer that is not
on this machine gives "not run". Servers are this machine's own vsftpd and sshd, on loopback.
"""

from __future__ import annotations

from benchmarks import pipeline, transfer, validity
from benchmarks.comparison import Comparisons, show

COMPARISONS: Comparisons = {
    "small-ftp": transfer.small_ftp,
    "small-sftp": transfer.small_sftp,
    "large-ftp": transfer.large_ftp,
    "large-sftp": transfer.large_sftp,
    "xsd": validity.compare,
    "pipeline": pipeline.compare,
}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
