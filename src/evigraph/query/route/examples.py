"""Questions of each class from everyday life. A question is read like those that ask for the same kind of thing.

They speak of no corpus. `NAMES` are the names in them; the names of the question that is compared are replaced by the
first few, so that what is asked counts and not of whom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from evigraph.query.route.examples_many import GLOBAL, LINKED
from evigraph.query.route.examples_part import LOCAL, LOOKUP
from evigraph.routing import RouteClass

EXAMPLES: Mapping[RouteClass, tuple[str, ...]] = {"lookup": LOOKUP, "local": LOCAL, "linked": LINKED, "global": GLOBAL}

NAMES = re.compile(r"\b(?:Paris|London|Rome|John|Mary|Peter)\b(?: (?:Traders|Iron|Steel|& Sons))?")
"""The names that the examples use, places, people and firms."""
