"""The contract lies in the package, where pytest does not look for asserts to explain unless it is told."""

import pytest

pytest.register_assert_rewrite("evigraph.testing.store_contract")
