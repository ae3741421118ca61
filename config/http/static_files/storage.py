"""Static files as they are collected: compressed, under names that change with their content, ours minified and in bundles."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from config.http.static_files.bundles import ENTRIES, bundled

# Our scripts and style sheets, among those of packages.
_OURS = re.compile(r"(?:js/.*\.js|css/.*\.css)")
_KINDS = {".js": "text/javascript", ".css": "text/css"}


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Only references in style sheets are renamed.

    A minified script names its source map, which is not collected; and our modules name bundles by their hashes already.
    """

    patterns = tuple(
        (glob, tuple(pattern for pattern in patterns if "sourceMappingURL" not in str(pattern)))
        for glob, patterns in CompressedManifestStaticFilesStorage.patterns
        if glob == "*.css"
    )

    def post_process(self, paths: dict[str, Any], *, dry_run: bool = False, **options: Any) -> Iterator[Any]:
        if not dry_run:
            ours = self._ours({name: Path(self.path(name)).read_text("utf-8") for name in filter(_OURS.fullmatch, paths)})
            for name, text in ours.items():
                path = Path(self.path(name))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            # As they were written here, not as they are in their source.
            paths = {**paths, **{name: (self, name) for name in ours}}
        yield from super().post_process(paths, dry_run=dry_run, **options)

    def _ours(self, files: dict[str, str]) -> dict[str, str]:
        """The files as they are served, by name, with those of the bundles."""
        if ENTRIES.keys() <= files.keys():
            files = files | bundled({name: text for name, text in files.items() if name.endswith(".js")}, self._kept_name)
        return {name: minified(name, text) for name, text in files.items()}

    def _kept_name(self, name: str, text: str) -> str:
        return str(self.hashed_name(name, ContentFile(minified(name, text).encode())))


def minified(name: str, text: str) -> str:
    """A script or style sheet without comments and spaces, with short names for what is local: half of what a page would load."""
    kind = _KINDS.get(PurePath(name).suffix)
    if kind is None:
        return text
    try:
        import minify  # Only who collects loads it.
    except ImportError:  # See requirements/base.in.
        return text
    return str(minify.string(kind, text))
