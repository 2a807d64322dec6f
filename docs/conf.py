"""How Sphinx reads this folder: Markdown through MyST, nothing imported, so building needs no tacit.

The pages in reference/ are written by reference.py beforehand, with a Python that has tacit: `python3 go.py docs`.
"""

import tomllib
from pathlib import Path

project = "tacit"
release = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]["version"]
version = release

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = f"tacit {release}"
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["house.css"]
