"""Tables on disk: the only import of pandas and pyarrow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccfw.errors import StoreError


def write_parquet(path: Path, columns: Mapping[str, Any], categories: Sequence[str] = ()) -> None:
    """Write columns of equal length so that a reader meets the old file or the whole new one.

    ``categories`` names the columns of few values, which are kept as codes.
    """
    import pandas as pd

    frame = pd.DataFrame({name: pd.Categorical(c) if name in categories else c for name, c in columns.items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    frame.to_parquet(part, index=False)
    part.replace(path)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Read a table as a pandas data frame; raise ``StoreError`` when the file is none."""
    import pandas as pd

    try:
        return pd.read_parquet(path, columns=list(columns) if columns is not None else None)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: not a Parquet table: {' '.join(str(error).split())[:300]}") from None
