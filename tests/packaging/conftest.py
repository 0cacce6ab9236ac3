import pytest
from tests.packaging.building import Built, build, copied


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("packaging")
    return build(copied(folder), folder / "dist")
