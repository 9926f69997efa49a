"""A first answer without a generator: its price, and what GenCeption adds to the bill."""

from PIL import Image

from driftledger.commands.collect import collect
from driftledger.commands.plan import plan
from driftledger.core.files import load_yaml
from driftledger.project.project import Project
from tests.acceptance.service import describe
from tests.sentence import run
from tests.support.evaluation import build
from tests.support.own_code import write_module
from tests.support.server import ChatAnswer, Server, digest

IMAGES = 20
"""As many as the price of a hundred is told from."""
SIZE = (1024, 768)
SERVICES = ("gpt_5_4_mini", "gemini_3_8_flash")
GENERATOR = "gpt_image_2"
ENCODER = """
import numpy as np
from driftledger.components.base import Encoder

class Both(Encoder):
    version = "1"

    def encode_images(self, images):
        return np.stack([np.asarray(image.resize((1, 1)))[0, 0] + 1.0 for image in images])

    def encode_texts(self, texts):
        return np.stack([np.full(3, len(text) + 1.0) for text in texts])
"""


def told(body):
    """Return another sentence by each model."""
    return ChatAnswer(describe(digest([body["model"], body["messages"]])))


def planned(root):
    return plan(Project(root, own_code=True)).calls


def evaluate(root):
    project = Project(root, own_code=True)
    build(project)
    collect(project)


def test_a_hundred_images_by_two_services_cost_sixty_cents_and_are_paid_once(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for number in range(IMAGES):
        picture = Image.new("RGB", SIZE, (number, 255 - number, 90))
        picture.save(tmp_path / f"photos/{number}.png")
    write_module(tmp_path, "mine", ENCODER)
    names = [word for name in SERVICES for word in ("--model", name)]
    with Server(reply=told) as server:
        address = ("--base-url", server.base_url)
        begin = ("init", "--images", "photos", *names, "--encoder", "mine:Both")
        assert run(monkeypatch, *begin, *address) == 0
        before = planned(tmp_path)
        likely = {name: calls.likely_cost for name, calls in before.items()}
        assert likely.keys() == {
            *(f"models.{name}" for name in SERVICES),
            "models.blind",
        }
        per_image = sum(cost or 0 for cost in likely.values()) / IMAGES
        assert 100 * per_image <= 0.60
        evaluate(tmp_path)
        assert len(server.requests) == len(SERVICES) * IMAGES
        for name, calls in planned(tmp_path).items():
            assert (calls.to_make, calls.most_cost) == (0, None)
            assert calls.spent.cost <= (before[name].most_cost or 0.0)

        assert run(monkeypatch, "add", "generator", GENERATOR, *address) == 0
        settings = load_yaml((tmp_path / "params.yaml").read_text())
        assert settings["run"]["genception"] == ["photos"]
        assert settings["genception"]["iterations"] == 1
        to_make = {name: calls.to_make for name, calls in planned(tmp_path).items()}
        assert [count for count in to_make.values() if count] == [3 * IMAGES]
        evaluate(tmp_path)
        drawn = server.requests[len(SERVICES) * IMAGES :]
        assert not [each for each in drawn if "messages" in each.body]
        assert len(drawn) == 3 * IMAGES
