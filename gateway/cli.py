"""The command line. Imports what a command needs when it runs: an SDK costs a second, and `clara probe` must start at once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; its exit status."""
    args = _parser().parse_args(argv)
    from pipeline.errors import ClaraError

    try:
        status: int = args.run(args)
        return status
    except ClaraError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="clara", description="Clara answers the phone, the texts and the e-mails of apartment buildings.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help)
        sub.set_defaults(run=run)
        return sub

    serve = command("serve", _serve, "run the gateway")
    serve.add_argument("--sandbox", action="store_true", help="with local stand-ins for every provider; needs no keys")
    demo = command("demo", _demo, "show the main job on the sandbox: a call, a text thread, a mail")
    demo.add_argument("--exit", action="store_true", help="end after the stories; status 0 only if everything shown held")
    demo.add_argument("--wav", default="var/demo-call.wav", help="where the call is written as a two-channel WAV")
    call = command("call", _call, "talk to a running sandbox by typing; the sandbox speaks for you")
    call.add_argument("--locale", default="en")
    call.add_argument("--to", default=None, help="number to call; default: the first property's")
    call.add_argument("--wav", default="var/call.wav")
    text = command("text", _text, "send a text to a running sandbox and show the answers")
    text.add_argument("body")
    text.add_argument("--sender", default="+13125550177")
    text.add_argument("--to", default=None)
    mail = command("mail", _mail, "post a mail file to a running sandbox and show the answers")
    mail.add_argument("file")
    tail = command("tail", _tail, "live stages of turns and calls")
    tail.add_argument("--once", action="store_true", help="print what there is and end")
    tail.add_argument("--topic", default=None, help="one conversation only")
    command("doctor", _doctor, "what is configured and what is missing, in sentences")
    command("migrate", _migrate, "bring the database up to date")
    probe = command("probe", _probe, "answer JSON lines with production's own functions")
    probe.add_argument("kind")
    return parser


def _probe(args: argparse.Namespace) -> int:
    from gateway import probe

    if args.kind not in probe.kinds():
        print(f"clara probe: there is no kind {args.kind!r}; kinds are {', '.join(probe.kinds())}", file=sys.stderr)
        return 2
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]  # a real standard input
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a real standard output
    return probe.run(args.kind, sys.stdin, sys.stdout)


def _serve(args: argparse.Namespace) -> int:
    from gateway import serve

    return serve.run(sandbox=args.sandbox)


def _demo(args: argparse.Namespace) -> int:
    from scripts.demo_stories import run

    return run(stay=not args.exit, wav=args.wav)


def _call(args: argparse.Namespace) -> int:
    from scripts.talk import call

    return call(args.locale, args.to, args.wav)


def _text(args: argparse.Namespace) -> int:
    from scripts.talk import text

    return text(args.body, args.sender, args.to)


def _mail(args: argparse.Namespace) -> int:
    from scripts.talk import mail

    return mail(args.file)


def _tail(args: argparse.Namespace) -> int:
    from gateway import tail

    return tail.run(once=args.once, topic=args.topic)


def _doctor(args: argparse.Namespace) -> int:
    from gateway import doctor

    return doctor.run(os.environ)


def _migrate(args: argparse.Namespace) -> int:
    from gateway.settings import VARIABLES
    from storage.migrate import upgrade

    url = os.environ.get("CLARA_DATABASE_URL") or next(v.default for v in VARIABLES if v.name == "CLARA_DATABASE_URL")
    upgrade(url or "")
    print("The database is up to date.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
