"""Makes pages of the notebooks in examples/ while the site is built, with what they print and draw.

Pages link to the file of a notebook, which a reader of the repository opens; on the site the link leads to its page.
"""

import json
import posixpath
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLDER = "notebooks"
_TO_PAGE = re.compile(r"(?<=\]\()\.\./docs/")
_BESIDE = re.compile(r"(?<=\]\()(\w+)\.ipynb(?=[)#])")
_TO_NOTEBOOK = re.compile(r"(?<=\]\()(?:\.\./)+examples/(\w+)\.ipynb(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by MkDocs with the files of the site."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        page, pictures = as_page(json.loads(path.read_text(encoding="utf-8")), path.stem)
        contents: dict[str, str | bytes] = {f"{path.stem}.md": page, **pictures}
        for name, content in contents.items():
            files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Called by MkDocs with the text of every page."""
    return linked(markdown, page.file.src_uri)


def linked(markdown: str, page: str) -> str:
    """The text of the page at this path, with links to the pages of notebooks in place of their files."""
    here = posixpath.dirname(page) or "."
    return _TO_NOTEBOOK.sub(lambda link: posixpath.relpath(f"{FOLDER}/{link[1]}.md", here), markdown)


def as_page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and its pictures by the names that it gives them."""
    parts, pictures = [], dict[str, bytes]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(_BESIDE.sub(r"\1.md", _TO_PAGE.sub("../", source)))
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if "image/png" in output.get("data", {}):
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = b64decode("".join(output["data"]["image/png"]))
                parts.append(f"![{cell['metadata']['picture']}]({picture})")
            else:
                printed = "".join(output["text"] if "text" in output else output["data"]["text/plain"])
                parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures
