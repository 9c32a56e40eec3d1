"""`enum`, by its functional interface: `Colour = Enum("Colour", ["RED", "BLUE"])`.

The engine has no inheritance, so `class Colour(Enum)` is refused.
"""


class Member:
    def __init__(self, owner, name, value):
        self._owner = owner
        self.name = name
        self.value = value

    def __str__(self):
        return self._owner + "." + self.name

    def __repr__(self):
        return "<" + self._owner + "." + self.name + ": " + repr(self.value) + ">"


class Enum:
    def __init__(self, value, names, *, module=None, qualname=None, type=None, start=1):
        if type is not None:
            raise NotImplementedError("the embedded engine's `Enum` has no mixed-in `type`")
        self.__name__ = value
        self._members = {}
        for name, value in pairs(names, start):
            if name in self._members:
                raise TypeError(repr(name) + " already defined as " + repr(self._members[name].value))
            same = [member for member in self._members.values() if member.value == value]
            member = same[0] if same else Member(self.__name__, name, value)
            self._members[name] = member
            setattr(self, name, member)
        self.__members__ = dict(self._members)

    def __call__(self, value):
        for member in self._members.values():
            if member is value or member.value == value:
                return member
        raise ValueError(repr(value) + " is not a valid " + self.__name__)

    def __getitem__(self, name):
        return self._members[name]

    def __iter__(self):
        return iter([member for name, member in self._members.items() if member.name == name])

    def __contains__(self, member):
        return any([member is own for own in self._members.values()])

    def __repr__(self):
        return "<enum '" + self.__name__ + "'>"


def pairs(names, start):
    """Name and value of each member."""
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    if isinstance(names, dict):
        return list(names.items())
    made = []
    for name in names:
        made.append((name, start + len(made)) if isinstance(name, str) else (name[0], name[1]))
    return made
