"""Bytes of a file to numbered lines, always in a child process of its own.

The parent runs ``python -I -m tq_loader.convert --name N [--media-type T] [--memory-mb M] [--cpu-seconds S]
[--page-seconds P] [--attachments yes] [--tables auto]``, writes the file to its standard input and reads JSON lines from its
standard output::

    {"type": "document", "media_type": str, "title": str | null}                      first
    {"type": "lines", "rows": [[text, page, kind, level, locator], …]}                any number
    {"type": "omission", "kind", "detail", "line_start", "line_end", "page"}          any number
    {"type": "pictures", "pages": int}                                                each page read as a picture
    {"type": "pages", "read": int, "count": int}                                      once a second, and at the end
    {"type": "attachment", "name", "media_type", "content_base64"}                    only if asked for
    {"type": "end", "lines": int}                                                     last, when all is well
    {"type": "error", "code", "message", "detail", "hint"}                            last, when it is not

Without ``--attachments yes`` a file inside of a message is an omission of kind ``attachment``.

Lines are numbered by their order, from 1. ``kind`` is text, heading (with a level from 1 to 6), table (one
row), code or furniture (what is repeated on each page, or not visible on it). A text never holds a NUL or a
newline.

How the process ends tells the parent what happened:

===========================  ===========================================================================
exit                         meaning
===========================  ===========================================================================
0, after ``end``             converted
1, after ``error``           the input is at fault: the error's code, message, detail and hint say how
2                            called wrongly (usage on standard error)
70, after ``error``          a fault of this program; the traceback is on standard error
killed by SIGSEGV, SIGABRT,  the native library crashed on this file: TQ011
SIGBUS, SIGILL, SIGFPE
killed by SIGXCPU, SIGKILL   out of CPU time, or out of memory or wall time (the parent's kill): TQ012
anything without ``end``     cut short: TQ011; what was read so far must not be kept
===========================  ===========================================================================

One module a format; ``detect.FORMATS`` names them, and only the one that is needed is imported.
"""
