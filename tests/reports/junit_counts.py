"""Reads a JUnit XML file with xml.etree; fails if its counts are not those of its elements, else prints one line per test."""
import sys
import xml.etree.ElementTree as ElementTree

root = ElementTree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites", root.tag


def check(element, cases):
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        found = sum(case.find(tag) is not None for case in cases)
        assert int(element.get(attribute)) == found, (element.get("name"), attribute, element.get(attribute), found)
    assert int(element.get("tests")) == len(cases), (element.get("name"), element.get("tests"), len(cases))


check(root, list(root.iter("testcase")))
for suite in root:
    assert suite.tag == "testsuite" and suite.get("name")
    check(suite, suite.findall("testcase"))
    names = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
    assert len(set(names)) == len(names), "two tests of one name in " + suite.get("name")
    for case in suite.iter("testcase"):
        assert [child.tag for child in case] in (["failure", "system-out"], ["skipped", "system-out"], ["skipped"], ["system-out"])
        state = next((child for child in case if child.tag in ("failure", "skipped")), None)
        kind = "passed" if state is None else state.tag
        print(f"{suite.get('name')!r} {case.get('name')!r} {kind} {'' if state is None else repr(state.get('message'))}")
