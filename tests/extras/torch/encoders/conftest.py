from tests.extras.encoding import built, copied, images, said  # noqa: F401
