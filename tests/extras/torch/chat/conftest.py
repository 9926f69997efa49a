from tests.extras.chatting import asked, built, checkpoint, images, llava  # noqa: F401
