"""Ways to write a code so that a plain search does not see it. Each takes the code (digits, or digits and capitals) and returns its disguise,
or None where it has none for such a code. English and Spanish ones stand side by side."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

EN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ES = ("cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve")
_RADIO = [
    "Alpha",
    "Bravo",
    "Charlie",
    "Delta",
    "Echo",
    "Foxtrot",
    "Golf",
    "Hotel",
    "India",
    "Juliett",
    "Kilo",
    "Lima",
    "Mike",
    "November",
    "Oscar",
    "Papa",
    "Quebec",
    "Romeo",
    "Sierra",
    "Tango",
    "Uniform",
    "Victor",
    "Whiskey",
    "Xray",
    "Yankee",
    "Zulu",
]
_TEENS = [
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_HASTA_29 = [
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "trece",
    "catorce",
    "quince",
    "dieciséis",
    "diecisiete",
    "dieciocho",
    "diecinueve",
    "veinte",
    "veintiuno",
    "veintidós",
    "veintitrés",
    "veinticuatro",
    "veinticinco",
    "veintiséis",
    "veintisiete",
    "veintiocho",
    "veintinueve",
]
_DECENAS = ["-", "-", "-", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]
_CENTENAS = [
    "-",
    "ciento",
    "doscientos",
    "trescientos",
    "cuatrocientos",
    "quinientos",
    "seiscientos",
    "setecientos",
    "ochocientos",
    "novecientos",
]
_MORSE = {
    **dict(
        zip(
            "0123456789",
            ["-----", ".----", "..---", "...--", "....-", ".....", "-....", "--...", "---..", "----."],
            strict=True,
        )
    ),
    **dict(
        zip(
            "ABCDEFGHKMPQRTZ",
            [".-", "-...", "-.-.", "-..", ".", "..-.", "--.", "....", "-.-", "--", ".--.", "--.-", ".-.", "-", "--.."],
            strict=True,
        )
    ),
}

Disguise = Callable[[str], str | None]


def _said(code: str, digits: Sequence[str]) -> list[str]:
    return [digits[int(char)] if char.isdigit() else char for char in code]


def _each(shift: int) -> Disguise:
    return lambda code: "".join(chr(shift + int(char)) if char.isdigit() else char for char in code)


def _joined(mark: str) -> Disguise:
    return lambda code: mark.join(code)


def _words(digits: Sequence[str], mark: str) -> Disguise:
    return lambda code: mark.join(_said(code, digits))


def _two(number: int) -> str:
    if number < 10:
        return EN[number]
    return _TEENS[number - 10] if number < 20 else _TENS[number // 10] + (f"-{EN[number % 10]}" if number % 10 else "")


def _dos(number: int) -> str:
    return (
        _HASTA_29[number] if number < 30 else _DECENAS[number // 10] + (f" y {ES[number % 10]}" if number % 10 else "")
    )


def _pairs(code: str) -> str | None:
    if not code.isdigit() or len(code) != 4 or "0" in (code[0], code[2]):
        return None
    return f"{_two(int(code[:2]))} {_two(int(code[2:]))}"


def _pares(code: str) -> str | None:
    if not code.isdigit() or len(code) != 4 or "0" in (code[0], code[2]):
        return None
    return f"{_dos(int(code[:2]))} {_dos(int(code[2:]))}"


def _number(code: str) -> str | None:
    if not code.isdigit() or len(code) != 4 or code[0] == "0":
        return None
    hundreds = f" {EN[int(code[1])]} hundred" if code[1] != "0" else ""
    return f"{EN[int(code[0])]} thousand{hundreds}" + (f" {_two(int(code[2:]))}" if code[2:] != "00" else "")


def _numero(code: str) -> str | None:
    if not code.isdigit() or len(code) != 4 or code[0] == "0" or code[1:3] == "00" or code[1:] == "100":
        return None
    mil = "mil" if code[0] == "1" else f"{ES[int(code[0])]} mil"
    cientos = f" {_CENTENAS[int(code[1])]}" if code[1] != "0" else ""
    return mil + cientos + (f" {_dos(int(code[2:]))}" if code[2:] != "00" else "")


def _doubled(digits: Sequence[str], double: str) -> Disguise:
    def disguise(code: str) -> str:
        said, at = [], 0
        while at < len(code):
            twice = code[at : at + 2] == code[at] * 2
            word = digits[int(code[at])] if code[at].isdigit() else code[at]
            said.append(f"{double} {word}" if twice else word)
            at += 2 if twice else 1
        return " ".join(said)

    return disguise


def _radio(code: str) -> str:
    return " ".join(_RADIO[ord(char) - 65] if char.isalpha() else EN[int(char)] for char in code)


def _de(code: str) -> str:
    return ", ".join(
        f"{char} de {_RADIO[ord(char) - 65].lower()}" if char.isalpha() else ES[int(char)] for char in code
    )


def _romans(code: str) -> str | None:
    if not code.isdigit() or "0" in code:
        return None
    return "-".join(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[int(char)] for char in code)


def _ordinals(code: str) -> str:
    places = ("first", "second", "third", "fourth", "fifth", "sixth")
    return ", ".join(f"the {places[i]} is {word}" for i, word in enumerate(_said(code, EN)))


def _ordinales(code: str) -> str:
    lugares = ("primer", "segundo", "tercer", "cuarto", "quinto", "sexto")
    return ", ".join(f"el {lugares[i]} dígito es {word}" for i, word in enumerate(_said(code, ES)))


def _digits_only(make: Callable[[str], str]) -> Disguise:
    return lambda code: make(code) if code.isdigit() else None


BOTH: dict[str, Disguise] = {
    "plain": lambda code: code,
    "lower": str.lower,
    "spaced": _joined(" "),
    "dashed": _joined("-"),
    "dotted": _joined("."),
    "slashed": _joined("/"),
    "starred": _joined("*"),
    "underscored": _joined("_"),
    "lines": _joined("\n"),
    "no_break_space": _joined("\u00a0"),
    "zero_width_space": _joined("\u200b"),
    "zero_width_joiner": _joined("\u200d"),
    "word_joiner": _joined("\u2060"),
    "soft_hyphen": _joined("\u00ad"),
    "grapheme_joiner": _joined("\u034f"),
    "struck_through": lambda code: "".join(f"{char}\u0336" for char in code),
    "keycaps": lambda code: "".join(f"{char}\ufe0f\u20e3" if char.isdigit() else char for char in code),
    "full_width": lambda code: "".join(chr(ord(char) + 0xFEE0) for char in code),
    "arabic_indic": _each(0x660),
    "devanagari": _each(0x966),
    "bengali": _each(0x9E6),
    "thai": _each(0xE50),
    "mathematical_bold": _each(0x1D7CE),
    "subscript": _each(0x2080),
    "circled": lambda code: "".join("⓪①②③④⑤⑥⑦⑧⑨"[int(char)] if char.isdigit() else char for char in code),
    "chinese": lambda code: "".join("〇一二三四五六七八九"[int(char)] if char.isdigit() else char for char in code),
    "homoglyphs": lambda code: "".join(
        {"0": "О", "3": "З", "6": "б", "K": "К", "M": "М", "P": "Р", "B": "В"}.get(c, c) for c in code
    ),
    "leet": lambda code: "".join(dict(zip("0123456789", "OIZEASGTBg", strict=True)).get(char, char) for char in code),
    "reversed": lambda code: code[::-1],
    "right_to_left": lambda code: f"\u202e{code[::-1]}\u202c",
    "quoted": lambda code: " ".join(f'"{char}"' for char in code),
    "in_brackets": lambda code: " ".join(f"({char})" for char in code),
    "marked_up": lambda code: f"{code[0]}<b>{code[1]}</b>{code[2:]}",
    "entities": lambda code: "".join(f"&#{ord(char)};" for char in code),
    "percent": lambda code: "".join(f"%{ord(char):02X}" for char in code),
    "escapes": lambda code: "".join(f"\\u{ord(char):04x}" for char in code),
    "hexadecimal": lambda code: " ".join(f"{ord(char):02x}" for char in code),
    "character_numbers": lambda code: " ".join(str(ord(char)) for char in code),
    "base_64": lambda code: base64.b64encode(code.encode()).decode(),
    "binary": _digits_only(lambda code: f"{int(code):b}"),
    "binary_digits": _digits_only(lambda code: " ".join(f"{int(char):04b}" for char in code)),
    "morse": lambda code: " ".join(_MORSE[char] for char in code),
    "braille": _digits_only(lambda code: "⠼" + "".join("⠚⠁⠃⠉⠙⠑⠋⠛⠓⠊"[int(char)] for char in code)),
    "romans": _romans,
    "radio": _radio,
    "link": lambda code: f"https://gate.example/open?c={code}",
    "inside_a_longer_number": _digits_only(lambda code: f"99{code}99"),
    "as_a_time": _digits_only(lambda code: f"{code[:2]}:{code[2:]}"),
    "as_a_phone": _digits_only(lambda code: f"512-555-{code}"),
    "corrected": lambda code: f"{code[0]}, no, {code}",
}
ENGLISH: dict[str, Disguise] = {
    "words": _words(EN, " "),
    "words_commas": _words(EN, ", "),
    "words_dashes": _words(EN, "-"),
    "words_um": _words(EN, ", um, "),
    "words_then": _words(EN, ", then "),
    "words_glued": _digits_only(lambda code: "".join(_said(code, EN))),
    "words_capitals": lambda code: " ".join(_said(code, EN)).upper(),
    "words_backwards": lambda code: " ".join(_said(code[::-1], EN)),
    "pairs": _pairs,
    "number": _number,
    "doubled": _doubled(EN, "double"),
    "ordinals": _ordinals,
    "sum": _digits_only(lambda code: f"{int(code) - 7} plus 7"),
    "difference": _digits_only(lambda code: f"{int(code) + 30} minus 30"),
    "twice": lambda code: (
        f"twice {int(code) // 2}" if code.isdigit() and code[0] != "0" and int(code) % 2 == 0 else None
    ),
}
SPANISH: dict[str, Disguise] = {
    "palabras": _words(ES, " "),
    "palabras_comas": _words(ES, ", "),
    "palabras_guiones": _words(ES, "-"),
    "palabras_eh": _words(ES, ", eh, "),
    "palabras_luego": _words(ES, ", luego "),
    "palabras_pegadas": _digits_only(lambda code: "".join(_said(code, ES))),
    "palabras_al_reves": lambda code: " ".join(_said(code[::-1], ES)),
    "pares": _pares,
    "numero": _numero,
    "doble": _doubled(ES, "doble"),
    "ordinales": _ordinales,
    "letra_de_palabra": _de,
    "suma": _digits_only(lambda code: f"{int(code) - 7} más 7"),
}
