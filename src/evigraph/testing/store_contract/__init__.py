"""The store's semantics as tests. A store configuration is right when `StoreContract` passes with its `store` fixture:

    @pytest.fixture(scope="module")
    def store() -> Iterator[Store]:
        store = open_store("http://default:@localhost:8123/scratch")
        yield store
        store.close()

    class TestMyStore(StoreContract):
        pass

Each test works in workspaces of its own, so one store serves them all and need not be empty. The docstrings are the
definition: what a test says holds for every store evigraph runs on. Needs pytest.
"""

from evigraph.testing.store_contract.communities import CommunityContract
from evigraph.testing.store_contract.conversations import ConversationContract
from evigraph.testing.store_contract.documents import DocumentContract
from evigraph.testing.store_contract.filters import FilterContract
from evigraph.testing.store_contract.graph import GraphContract
from evigraph.testing.store_contract.identity import IdentityContract
from evigraph.testing.store_contract.material import CapitalExtractor
from evigraph.testing.store_contract.retention import RetentionContract
from evigraph.testing.store_contract.search import SearchContract
from evigraph.testing.store_contract.values import ValueContract
from evigraph.testing.store_contract.visibility import VisibilityContract

__all__ = ["CapitalExtractor", "StoreContract"]


class StoreContract(
    DocumentContract,
    VisibilityContract,
    FilterContract,
    SearchContract,
    GraphContract,
    IdentityContract,
    CommunityContract,
    ConversationContract,
    ValueContract,
    RetentionContract,
):
    """All parts together."""
