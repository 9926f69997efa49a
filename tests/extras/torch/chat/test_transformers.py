"""What vision-language checkpoints answer: the text that the library's own path gives, in any
company."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from PIL import Image
from torch.overrides import TorchFunctionMode

from driftledger.collect.batches import ask_batch
from driftledger.collect.call import Ask
from driftledger.core.errors import OutOfMemoryError
from driftledger.core.types import Conversation, Medium, Outcome, Subject
from tests.extras.chatting import failure, model, says, texts
from tests.extras.encoding import change_json
from tests.support.checkpoints.weights import PARTS

LEAKING = PARTS["leaking"]


@pytest.mark.parametrize("beams", [1, 3])
def test_a_batch_says_what_each_says_alone(checkpoint, asked, beams):
    one = model(checkpoint, beams=beams)
    together = one.respond(asked)
    # so there is padding
    assert len({reply.usage.input_tokens for reply in together if reply.usage}) > 1
    assert together == [one.respond([conversation])[0] for conversation in asked]


@pytest.mark.parametrize("beams", [1, 3])
def test_it_says_what_the_library_says(checkpoint, images, beams):
    processor = transformers.AutoProcessor.from_pretrained(
        checkpoint, backend="torchvision"
    )
    library = transformers.AutoModelForImageTextToText.from_pretrained(checkpoint)
    decoding = {"num_beams": beams, "length_penalty": 2.0 if beams > 1 else 1.0}
    expected = []
    for image in images:
        content = [
            {"type": "image", "image": image.open()},
            {"type": "text", "text": "Describe it."},
        ]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
        )  # fmt: skip
        made = library.generate(
            **inputs,
            max_new_tokens=16,
            do_sample=False,
            repetition_penalty=1.0,
            **decoding,
        )
        expected.append(
            processor.decode(
                made[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
            ).strip()
        )
    one = model(
        checkpoint,
        image_backend="torchvision",
        beams=beams,
        length_penalty=decoding["length_penalty"],
    )
    assert (
        texts(
            one.respond([Conversation.ask("Describe it.", image) for image in images])
        )
        == expected
    )


def test_one_that_sees_nothing_answers_about_a_grey_image(checkpoint, images, tmp_path):
    """In examples, too; so that the images change nothing."""
    grey = tmp_path / "grey.png"
    Image.new("RGB", (224, 224), (128, 128, 128)).save(grey)

    def asked(image):
        example = (image, "What is it?")
        return says(
            ("user", example), ("assistant", "A boat."), ("user", (image, "And it?"))
        )

    blinded, plain = model(checkpoint, sees="nothing"), model(checkpoint)
    calls = [
        Ask(blinded, "describe", asked(image), Subject("s", 1)) for image in images
    ]
    expected = plain.respond([asked(Medium(grey, ""))] * len(images))
    replies = ask_batch(calls)
    assert texts(replies) == texts(expected)
    assert all(reply.outcome.goes_on and reply.text for reply in replies)
    assert len({call.key for call in calls}) == 1
    assert blinded.fingerprint != plain.fingerprint


def test_beams_and_their_length_penalty_change_what_it_says(llava, asked):
    greedy, short, long = (
        texts(model(llava, **settings).respond(asked))
        for settings in (
            {},
            {"beams": 3, "length_penalty": -10},
            {"beams": 3, "length_penalty": 10},
        )
    )
    assert greedy != long
    assert len(" ".join(short)) < len(" ".join(long))


def test_a_tokenizer_saved_with_padding_on_the_right_changes_nothing(llava, asked):
    before = model(llava).respond(asked)
    change_json(
        llava / "tokenizer_config.json",
        lambda config: config.update(padding_side="right"),
    )
    assert model(llava).respond(asked) == before


def test_a_checkpoints_own_generation_settings_change_nothing(llava, asked):
    before = model(llava).respond(asked)
    change_json(llava / "generation_config.json", lambda config: config.update(LEAKING))
    assert model(llava).respond(asked) == before


def test_an_answer_without_an_end_is_truncated(llava, asked):
    """A word becomes the second token that ends an answer; also where it is the last token
    allowed."""
    [before] = model(llava, max_new_tokens=8).respond(asked[:1])
    assert (before.outcome, before.usage and before.usage.output_tokens) == (
        Outcome.TRUNCATED,
        8,
    )
    words = before.text.split()
    last = next(place for place in range(2, 8) if words[place] not in words[:place])
    end = transformers.AutoTokenizer.from_pretrained(llava).convert_tokens_to_ids(
        f"Ġ{words[last]}"
    )
    change_json(
        llava / "generation_config.json",
        lambda config: config.update(eos_token_id=[354, end]),
    )
    for most, outcome in (
        (last, Outcome.TRUNCATED),
        (last + 1, Outcome.OK),
        (16, Outcome.OK),
    ):
        reply = model(llava, max_new_tokens=most).respond(asked)[0]
        assert (reply.outcome, reply.usage and reply.usage.output_tokens) == (
            outcome,
            min(most, last + 1),
        )


def test_an_empty_answer_has_no_text(llava, asked, monkeypatch):
    one = model(llava)
    ends = torch.full((len(asked), 1), 354)
    monkeypatch.setattr(
        one.loaded.model,
        "generate",
        lambda **inputs: torch.cat([inputs["input_ids"], ends], dim=1),
    )
    assert [(reply.text, reply.outcome) for reply in one.respond(asked)] == [
        ("", Outcome.OK)
    ] * len(asked)


@pytest.mark.parametrize("beams", [1, 3])
def test_scores_that_are_no_numbers_are_told_of_the_row_that_has_them(
    beams, llava, asked, monkeypatch
):
    """What is computed for a row after its end is padding. The device waits for nobody who looks at
    a step's scores."""
    one = model(llava, beams=beams)
    said = torch.tensor([[7, 354, 9], [7, 8, 9], [7, 8, 354]])
    done = set()

    class Noting(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            done.add(function.__name__)
            return function(*args, **(kwargs or {}))

    def generate(**given):
        for step in range(3):
            scores = torch.full((3 * beams, 5), -torch.inf)
            scores[[0, -1], 2] = torch.nan if step == 2 else 0.0
            with Noting():
                given["logits_processor"][0](None, scores)
        return torch.cat([given["input_ids"], said], dim=1)

    monkeypatch.setattr(one.loaded.model, "generate", generate)
    first, second, last = one.respond(asked[:3])
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.TRUNCATED)
    assert "scores are no numbers" in failure(last)
    assert "isnan" in done
    assert not done & {"__bool__", "__int__", "cpu", "item", "numpy", "tolist", "to"}


def test_out_of_memory_is_said_so_that_the_batch_can_be_halved(
    llava, asked, monkeypatch
):
    one = model(llava)
    generate: Callable[..., Any] = one.loaded.model.generate

    def crowded(**inputs):
        if len(inputs["input_ids"]) > 2:
            raise torch.OutOfMemoryError(
                "CUDA out of memory. Tried to allocate 2.00 GiB."
            )
        return generate(**inputs)

    monkeypatch.setattr(one.loaded.model, "generate", crowded)
    with pytest.raises(
        OutOfMemoryError, match=r"llava: out of memory \(CUDA out of memory"
    ):
        one.respond(asked)
    assert one.respond(asked[:2]) + one.respond(asked[2:]) == model(llava).respond(
        asked
    )


def limited(conversation, most):
    return Conversation(conversation.turns, max_tokens=most)


def test_a_conversation_may_allow_fewer_tokens(checkpoint, asked):
    one = model(checkpoint)
    limits = (3, None, 40, 3)
    together = one.respond(
        [limited(each, most) for each, most in zip(asked, limits, strict=True)]
    )
    for reply, conversation, most in zip(together, asked, (3, 16, 16, 3), strict=True):
        assert [reply] == model(checkpoint, max_new_tokens=most).respond([conversation])
        assert reply.usage is not None
        assert reply.usage.output_tokens <= most
    assert together[0].outcome is Outcome.TRUNCATED


def test_a_row_without_images_is_not_batched_with_rows_that_have_some(
    llava, asked, monkeypatch
):
    """Llama 3.2 Vision would answer it otherwise than alone."""
    one, batches = model(llava), []
    generate: Callable[..., Any] = one.loaded.model.generate
    monkeypatch.setattr(
        one.loaded.model,
        "generate",
        lambda **given: batches.append(sorted(given)) or generate(**given),
    )
    assert all(
        reply.outcome.goes_on
        for reply in one.respond([asked[0], says(("user", "Describe it.")), asked[1]])
    )
    assert ["pixel_values" in given for given in batches] == [True, False]
