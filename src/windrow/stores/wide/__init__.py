"""Tables of wide rows: a key of bytes, and cells by family and column; embedded in SQLite, or in Apache HBase."""

from windrow.stores.wide.opening import open_table
from windrow.stores.wide.table import Cells, Family, Put, WideTable

__all__ = ["Cells", "Family", "Put", "WideTable", "open_table"]
