#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prune.py: of what abidw prints of the shared library, on stdin, leaves the C functions and the types that they use.

abidw follows the C++ inside as well, which is a hundred times as much, and no matter of the C API.
"""

import sys
import xml.etree.ElementTree as xml


def main():
    corpus = xml.parse(sys.stdin).getroot()
    symbols = [s for s in corpus.iter("elf-symbol") if s.get("name").startswith("prefixroute_")]
    nodes = [node for unit in corpus.iter("abi-instr") for node in unit]
    types = {}
    for node in nodes:
        if node.get("id"):
            types.setdefault(node.get("id"), node)

    wanted = [n for n in nodes if n.tag == "function-decl" and n.get("elf-symbol-id", "").startswith("prefixroute_")]
    kept = {id(node) for node in wanted}
    while wanted:
        for part in wanted.pop().iter():
            for attribute in ("type-id", "naming-typedef-id"):
                node = types.get(part.get(attribute))
                if node is not None and id(node) not in kept:
                    kept.add(id(node))
                    wanted.append(node)

    # Neither the soname, which follows the version, nor where the sources were.
    pruned = xml.Element("abi-corpus", {k: corpus.get(k) for k in ("version", "architecture")})
    xml.SubElement(pruned, "elf-function-symbols").extend(sorted(symbols, key=lambda s: s.get("name")))
    unit = xml.SubElement(pruned, "abi-instr", {"address-size": "64", "path": "c.h", "language": "LANG_C11"})
    unit.extend(sorted((node for node in nodes if id(node) in kept),
                       key=lambda node: (node.tag == "function-decl", node.tag, node.get("name", ""), node.get("id", ""))))
    xml.indent(pruned)
    print(xml.tostring(pruned, encoding="unicode"))


main()
