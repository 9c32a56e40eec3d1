"""Parses the SVG files of a folder. Prints a line for each file that is not well-formed: `parse.py FOLDER`."""

import sys
from pathlib import Path
from xml.etree import ElementTree

folder = Path(sys.argv[1])
for file in sorted(folder.rglob("*.svg")):
    try:
        ElementTree.parse(file)
    except ElementTree.ParseError as error:
        print(f"{file.relative_to(folder)}: {error}")
