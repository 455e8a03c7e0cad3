"""A key and its file, for tests of secrets."""

import traceback
from pathlib import Path

KEY = bytes(range(100, 132))
TEXT = KEY.hex()


def key_file(path: Path, text: str = TEXT, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def all_of(error: BaseException, package: str) -> str:
    """What a reporter of errors that shows local variables would print of the frames in the folder of ``package``."""
    folder = str(Path(package).parents[1])
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    shown = "".join(traceback.format_exception(error))
    chain: list[traceback.TracebackException | None] = [told]
    while chain:
        link = chain.pop()
        if link is not None:
            shown += str([frame.locals for frame in link.stack if frame.filename.startswith(folder)])
            chain += [link.__cause__, link.__context__]
    return shown + arguments_of(error)


def arguments_of(error: BaseException) -> str:
    shown = ""
    link: BaseException | None = error
    while link is not None:
        shown += repr(vars(link)) + repr(link.args)
        link = link.__context__
    return shown
