"""What children inherit of what the program was started with."""

from app.environment import taken


def test_secrets_are_known_here_and_not_inherited() -> None:
    environment = {
        "HF_TOKEN": "hf_secret",
        "HF_ENDPOINT": "https://hub.example",
        "HOME": "/somewhere",
    }
    whole = dict(environment)
    assert taken(environment) == whole
    assert environment == {"HF_ENDPOINT": "https://hub.example", "HOME": "/somewhere"}
    assert taken(environment) == environment
