package config

import (
	"fmt"
	"strings"
)

// tail is how a line ends.
type tail int

const (
	endsWhole tail = iota // ends after a whole pair, or the line is empty
	endsQuery             // a key alone
	endsUnset             // ends after a key and "="
)

// lineParser parses one line.
type lineParser struct {
	file string
	line int
	text string
	pos  int
	env  func(string) (string, bool) // nil: unset names are replaced by nothing
	open bool                        // for SCR_Config: the line may end with a key, or with a key and "="; "#", and "=" in a value, are ordinary characters
}

// parseLine returns the pairs of a line of a file.
func parseLine(file string, line int, text string, env func(string) (string, bool)) ([]Pair, tail, error) {
	p := &lineParser{file: file, line: line, text: text, env: env}
	return p.parse()
}

func (p *lineParser) fail(pos int, format string, a ...any) error {
	return &SyntaxError{File: p.file, Line: p.line, Column: pos + 1, Msg: fmt.Sprintf(format, a...)}
}

func (p *lineParser) parse() ([]Pair, tail, error) {
	if i := strings.IndexByte(p.text, 0); i >= 0 {
		return nil, 0, p.fail(i, "NUL byte in a text file")
	}
	var out []Pair
	for {
		p.blanks()
		if p.ended() {
			return out, endsWhole, nil
		}
		start := p.pos
		key, err := p.token(false)
		if err != nil {
			return nil, 0, err
		}
		if key == "" {
			return nil, 0, p.fail(start, "%q without a key before it", p.text[start])
		}
		key = strings.ToUpper(key)
		p.blanks()
		if p.ended() || p.text[p.pos] != '=' {
			if p.open && p.ended() {
				return append(out, Pair{Key: key}), endsQuery, nil
			}
			return nil, 0, p.fail(p.pos, "want '=' after %s", key)
		}
		p.pos++
		p.blanks()
		if p.ended() {
			if p.open {
				return append(out, Pair{Key: key}), endsUnset, nil
			}
			return nil, 0, p.fail(p.pos, "no value after %s=", key)
		}
		start = p.pos
		value, err := p.token(true)
		if err != nil {
			return nil, 0, err
		}
		if p.pos == start {
			return nil, 0, p.fail(start, "second '=' after %s; write \\= for '=' in a value", key)
		}
		if !p.ended() && p.text[p.pos] == '=' {
			return nil, 0, p.fail(p.pos, "'=' after the value of %s; write \\= for '=' in a value", key)
		}
		out = append(out, Pair{Key: key, Value: value})
	}
}

func (p *lineParser) blanks() {
	for p.pos < len(p.text) && isBlank(p.text[p.pos]) {
		p.pos++
	}
}

// ended reports whether the parser is at the end of the line or at a comment.
func (p *lineParser) ended() bool {
	return p.pos == len(p.text) || p.text[p.pos] == '#' && !p.open
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'
}

// token reads a key or a value. In a value it replaces escapes and $NAME.
func (p *lineParser) token(value bool) (string, error) {
	var b strings.Builder
	for !p.ended() {
		c := p.text[p.pos]
		switch {
		case isBlank(c) || c == '=' && (!value || !p.open || b.Len() == 0):
			return b.String(), nil
		case value && c == '\\':
			if p.pos+1 == len(p.text) {
				return "", p.fail(p.pos, "backslash at the end of the line")
			}
			b.WriteByte(p.text[p.pos+1])
			p.pos += 2
		case value && c == '$':
			v, err := p.variable()
			if err != nil {
				return "", err
			}
			b.WriteString(v)
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return b.String(), nil
}

// variable reads $NAME or ${NAME} and returns its value. A $ that no name follows is kept.
func (p *lineParser) variable() (string, error) {
	start := p.pos
	name, n, err := variableAt(p.text[start:])
	if err != nil {
		return "", p.fail(start, "%v", err)
	}
	p.pos += n
	if name == "" {
		return p.text[start:p.pos], nil
	}
	v, ok := p.env(name)
	if !ok && !p.open {
		return "", p.fail(start, "%s is not set in the environment", name)
	}
	return v, nil
}

// variableAt returns the variable name at the beginning of s, and the length of $NAME or ${NAME}. s begins with $. The name is
// "" if no name follows the $.
func variableAt(s string) (name string, n int, err error) {
	braced := strings.HasPrefix(s, "${")
	i := 1
	if braced {
		i = 2
	}
	start := i
	for i < len(s) && (s[i] == '_' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' || i > start && '0' <= s[i] && s[i] <= '9') {
		i++
	}
	switch name = s[start:i]; {
	case !braced:
		return name, i, nil
	case name == "" || i == len(s) || s[i] != '}':
		return "", 0, fmt.Errorf("want ${NAME}")
	}
	return name, i + 1, nil
}

// expand replaces each $NAME in a value by the value of the environment variable. Unset names are replaced by nothing. A $
// that no name follows is kept.
func expand(s string, env func(string) (string, bool)) string {
	if !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '$':
			b.WriteByte('$')
			i += 2
		case s[i] == '$':
			name, n, err := variableAt(s[i:])
			if err != nil || name == "" {
				b.WriteByte('$')
				i++
				continue
			}
			v, _ := env(name)
			b.WriteString(v)
			i += n
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}
