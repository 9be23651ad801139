"""MediaWiki XML dumps, page by page in constant memory, whatever their size, compression or state.

What a dump comes to is said afterwards, in ``Dump.end``: a dump cut in the middle gives every whole page first. A
DOCTYPE is refused, since MediaWiki's export format (https://www.mediawiki.org/wiki/Help:Export) has none and an entity
bomb needs one; expat's own limit on amplification stands behind that.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, NamedTuple, cast
from xml.parsers import expat

from ccfw.errors import StoreError
from ccfw.knowledge.export import Page, PageReader, Refused, Site

_READ = 1 << 18
"""Bytes handed to the parser at a time, after decompression."""
_LONGEST_TAG = 1 << 24
"""Bytes that the parser may hold back in the hope of a ``>``."""


class End(NamedTuple):
    """How a dump ended: as it should, too early, or in something that is no dump any more."""

    status: Literal["whole", "truncated", "damaged"]
    pages: int
    """Whole pages read."""
    reason: str | None


class Dump:
    """One dump file: plain, bz2 (one stream or many), xz or gzip, told by its first bytes and not by its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.end: End | None = None
        """Set when ``pages`` has come to its end."""
        self._raw = path.open("rb")
        self._reader = PageReader(Site.of_file_name(path.name))

    @property
    def site(self) -> Site:
        """The wiki: as the dump says, or as the file's name suggests until it does."""
        return self._reader.site

    @property
    def position(self) -> int:
        """Bytes of the file read so far, compressed as they are."""
        return self._raw.tell()

    def pages(self) -> Iterator[Page]:
        """Yield the whole pages; then ``end`` is set.

        Raises ``StoreError`` for what is no dump, or holds a DOCTYPE.
        """
        parser, found = self._parser()
        count = 0
        status: Literal["whole", "truncated", "damaged"] | None = None
        reason: str | None = None
        while status is None:
            status, reason = self._step(parser)
            while found:
                count += 1
                yield found.popleft()
        if not self._reader.root:
            raise StoreError(f"{self.path}: not a MediaWiki dump: {reason if self.size else 'it is empty'}")
        self.end = End(status, count, reason)

    def _parser(self) -> tuple[expat.XMLParserType, deque[Page]]:
        self._raw.seek(0)
        self._stream = _decompressed(self._raw)
        found: deque[Page] = deque()
        self._reader = PageReader(self._reader.site)
        self._fed = 0
        return self._reader.parser(found.append), found

    def _step(self, parser: expat.XMLParserType) -> tuple[Literal["whole", "truncated", "damaged"] | None, str | None]:
        """Parse the next piece; return how the dump ended, if it did, and why."""
        try:
            piece = self._stream.read(_READ)
        except EOFError:
            return "truncated", "the compressed data end before their end is marked"
        except (OSError, lzma.LZMAError, zlib.error) as error:
            return "damaged", f"cannot be decompressed: {error}"
        try:
            parser.Parse(piece, not piece)
        except Refused as error:
            raise StoreError(f"{self.path}: {error}") from None
        except expat.ExpatError as error:
            if not piece and not self._reader.closed:
                return "truncated", "the XML ends before </mediawiki>"
            return "damaged", f"not well-formed XML: {error}"
        self._fed += len(piece)
        if self._fed - parser.CurrentByteIndex > _LONGEST_TAG:
            return "damaged", f"a tag of more than {_LONGEST_TAG >> 20} MB"
        return (None, None) if piece else ("whole", None)

    def __enter__(self) -> Dump:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()


def fault(path: Path) -> str | None:
    """Return why nothing at all can be read of a file that is to be a dump; ``None`` when a page can, or it holds none.

    Only as much is read as the first page takes.
    """
    if path.is_dir():
        return f"{path}: is a folder; name the dump files in it"
    if not path.is_file():
        return f"{path}: no such file"
    try:
        with Dump(path) as dump:
            first = next(dump.pages(), None)
    except StoreError as error:
        return str(error)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    end = dump.end
    return f"{path}: {end.status} before its first page: {end.reason}" if first is None and end and end.reason else None


def _decompressed(raw: BinaryIO) -> BinaryIO:
    head = raw.read(6)
    raw.seek(0)
    if head.startswith(b"BZh"):
        return cast("BinaryIO", bz2.BZ2File(raw))
    if head == b"\xfd7zXZ\x00":
        return cast("BinaryIO", lzma.LZMAFile(raw))
    if head.startswith(b"\x1f\x8b"):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    return raw
