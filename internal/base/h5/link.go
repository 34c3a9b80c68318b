package h5

import "blobio/internal/base/fault"

// LinkKind is the kind of a link.
type LinkKind uint8

// Kinds of links.
const (
	LinkHard     LinkKind = 0
	LinkSoft     LinkKind = 1
	LinkExternal LinkKind = 64
)

// String returns the name of the kind.
func (k LinkKind) String() string {
	switch k {
	case LinkHard:
		return "hard"
	case LinkSoft:
		return "soft"
	case LinkExternal:
		return "external"
	}
	return "user-defined"
}

// Link is a member of a group.
type Link struct {
	Name   string
	Kind   LinkKind
	Target string // soft, external: path of the target; not followed here
	File   string // external: name of the file
	addr   int64  // hard: object header
	order  int64  // of creation; 0 if the file does not keep it
}

// Addr returns the address of the object header that a hard link leads to.
func (l Link) Addr() int64 { return l.addr }

// decodeLink decodes a link message (HDF5 File Format Specification, "Link Message").
func (c *cursor) decodeLink() Link {
	var l Link
	c.version(1, "link version")
	at := c.pos()
	flags := c.u8("link flags")
	if c.err == nil && flags&0xe0 != 0 {
		c.fail(at, "link flags", fault.ErrCorrupt, "%#x, want the upper three bits clear", flags)
	}
	if flags&8 != 0 {
		l.Kind = LinkKind(c.u8("link type"))
	}
	if flags&4 != 0 {
		l.order = int64(c.uvar(8, "link creation order"))
	}
	if flags&16 != 0 {
		c.u8("link name character set")
	}
	at = c.pos()
	n := c.num(1<<(flags&3), "link name length")
	if c.err == nil && n == 0 {
		c.fail(at, "link name length", fault.ErrCorrupt, "0, want at least 1")
	}
	l.Name = string(c.take(n, "link name"))
	switch l.Kind {
	case LinkHard:
		at = c.pos()
		l.addr = c.addr("link address")
		if c.err == nil && l.addr == undef {
			c.fail(at, "link address", fault.ErrCorrupt, "undefined")
		}
	case LinkSoft:
		l.Target = string(c.take(int64(c.u16("soft link length")), "soft link value"))
	case LinkExternal:
		b := c.take(int64(c.u16("external link length")), "external link value")
		if len(b) > 1 {
			l.File, l.Target = cutNul(b[1:])
		}
	}
	return l
}

// cutNul splits two null-terminated strings.
func cutNul(b []byte) (string, string) {
	first := untilNul(b)
	rest := b[min(len(first)+1, len(b)):]
	return string(first), string(untilNul(rest))
}

// untilNul returns b up to its first zero byte.
func untilNul(b []byte) []byte {
	for i, x := range b {
		if x == 0 {
			return b[:i]
		}
	}
	return b
}
