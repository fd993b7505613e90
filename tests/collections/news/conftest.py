"""The real WordPress of `test_real_wordpress` is the one that WINDROW_WORDPRESS names: without it there is nothing to collect."""

import os

collect_ignore = [] if os.environ.get("WINDROW_WORDPRESS") else ["test_real_wordpress.py"]
