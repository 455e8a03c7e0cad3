"""What plans and pages say of streams whose units span days."""


def chosen_note(unit: str) -> str:
    """That caps hold over the whole stream, and where it is remembered which rows count."""
    return (
        f"The caps of one {unit} hold over the whole stream: its rows are chosen once, as days are run. A private "
        "table beside the releases, .chosen-STREAM (mode 0700), remembers keyed digests of them until the stream is "
        "closed; without it no further day can be measured."
    )
