package config

import "fmt"

// Config is SCR_Config of the original: it sets, unsets or asks for a
// parameter, or for a child of a descriptor.
//
//	"SCR_FLUSH=5"             sets
//	"CKPT=0 TYPE=XOR"         sets a child of a descriptor
//	"SCR_FLUSH="              takes back what the program has set
//	"CKPT=0 TYPE="            the same for a child
//	"SCR_FLUSH"               asks: the value that is in effect, wherever it was set
//	"CKPT=0 TYPE"             asks for a child
//
// ok tells whether what was asked for has a value; it is false for the other
// forms. What the program sets counts less than the environment and the user's
// file. After Lock only questions are allowed (ErrLocked); some names the
// program may never set (ErrNotYours); a text of no such form is a
// *SyntaxError.
func (s *Set) Config(text string) (value string, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &lineParser{line: 1, text: text, open: true, env: func(name string) (string, bool) { v, ok := s.vars[name]; return v, ok }}
	pairs, end, err := p.parse()
	if err != nil {
		return "", false, err
	}
	if len(pairs) == 0 {
		return "", false, &SyntaxError{Line: 1, Column: 1, Msg: "nothing in it"}
	}
	if end == endsQuery {
		return s.ask(pairs)
	}
	if s.locked {
		return "", false, fmt.Errorf("%s: %w", text, ErrLocked)
	}
	if end == endsUnset {
		if err := mayProgram(pairs); err != nil {
			return "", false, err
		}
		s.unset(pairs)
		return "", false, nil
	}
	return "", false, s.setProgram(pairs)
}

// ask answers a question; the last pair is a key alone.
func (s *Set) ask(pairs []Pair) (string, bool, error) {
	key := pairs[len(pairs)-1].Key
	switch len(pairs) {
	case 1:
		v := s.lookup(key)
		return v.Text, v.Origin.Source != Unset, nil
	case 2:
		lines, _ := s.lines(pairs[0].Key)
		for i := range lines {
			if lines[i].Pair == pairs[0] {
				v, ok := lines[i].Child(key)
				return v, ok, nil
			}
		}
		return "", false, nil
	}
	return "", false, &SyntaxError{Line: 1, Column: 1, Msg: "a question has at most a parent and a key"}
}

// unset takes back; the last pair is a key alone.
func (s *Set) unset(pairs []Pair) {
	key := pairs[len(pairs)-1].Key
	if len(pairs) == 1 {
		s.program.remove(func(e *Entry) bool { return e.Key == key })
		return
	}
	for i := range s.program.Entries {
		e := &s.program.Entries[i]
		if e.Pair != pairs[0] {
			continue
		}
		for j := range e.Children {
			if e.Children[j].Key == key {
				e.Children = append(e.Children[:j:j], e.Children[j+1:]...)
				break
			}
		}
	}
}
