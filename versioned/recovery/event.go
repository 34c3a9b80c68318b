package recovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"blobio/internal/base/fault"
)

// Event describes an error for handlers by its kind, its position and further attributes.
type Event struct {
	Kind  string // "data", "metadata", ...: see the package comment; programs may add kinds
	Array string // array that the event is about; "" for none
	Level int
	Box   int
	Ranks []int // affected ranks; a global event finally lists all ranks that raised it
	Scope Scope // scope where handling begins; handlers see the scope being tried
	Attr  map[string]any
}

// Attributes are string, bool, int64 or float64 (int is taken as int64).

// attr returns an attribute of an event by name, including the fields of Event.
func (e *Event) attr(name string) (any, bool) {
	switch name {
	case "kind":
		return e.Kind, true
	case "array":
		return e.Array, true
	case "level":
		return int64(e.Level), true
	case "box":
		return int64(e.Box), true
	case "scope":
		return e.Scope.String(), true
	}
	v, ok := e.Attr[name]
	return plain(v), ok
}

func plain(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

func (e *Event) clone() Event {
	c := *e
	c.Ranks, c.Attr = slices.Clone(e.Ranks), maps.Clone(e.Attr)
	for k, v := range c.Attr {
		c.Attr[k] = plain(v)
	}
	return c
}

func (e *Event) validate() error {
	if e.Kind == "" || e.Scope > Abort {
		return fault.Usage("event of kind %q and scope %v, want a kind that is not empty and a scope up to %v", e.Kind, e.Scope, Abort)
	}
	for k, v := range e.Attr {
		switch plain(v).(type) {
		case string, bool, int64, float64:
		default:
			return fault.Usage("attribute %q is a %T, want string, bool, int64 or float64", k, v)
		}
	}
	return nil
}

// wireEvent is an Event in a message between ranks. Attributes carry their type, and floats their bits, so that NaN and 2^53+1
// arrive unchanged.
type wireEvent struct {
	Event
	Attr map[string][2]string
}

func encodeEvent(e *Event) ([]byte, error) {
	w := wireEvent{Event: *e, Attr: map[string][2]string{}}
	for k, v := range e.Attr {
		switch v := plain(v).(type) {
		case string:
			w.Attr[k] = [2]string{"s", v}
		case bool:
			w.Attr[k] = [2]string{"b", strconv.FormatBool(v)}
		case int64:
			w.Attr[k] = [2]string{"i", strconv.FormatInt(v, 10)}
		case float64:
			w.Attr[k] = [2]string{"f", strconv.FormatUint(math.Float64bits(v), 16)}
		}
	}
	return json.Marshal(w)
}

func decodeEvent(b []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(b, &w); err != nil {
		return Event{}, fmt.Errorf("event of another rank: %w", err)
	}
	e := w.Event
	e.Attr = nil
	for k, v := range w.Attr {
		var x any
		var err error
		switch v[0] {
		case "s":
			x = v[1]
		case "b":
			x, err = strconv.ParseBool(v[1])
		case "i":
			x, err = strconv.ParseInt(v[1], 10, 64)
		case "f":
			var u uint64
			u, err = strconv.ParseUint(v[1], 16, 64)
			x = math.Float64frombits(u)
		default:
			err = fmt.Errorf("type %q", v[0])
		}
		if err != nil {
			return Event{}, fmt.Errorf("event of another rank: attribute %q: %w", k, err)
		}
		if e.Attr == nil {
			e.Attr = map[string]any{}
		}
		e.Attr[k] = x
	}
	if err := e.validate(); err != nil {
		return Event{}, fmt.Errorf("event of another rank: %w", err)
	}
	return e, nil
}

// Pred selects the events of a handler: those with all of these values. The fields of Event have the names kind, array, level,
// box and scope. More terms make a Pred more specific. An empty Pred selects every event.
type Pred map[string]any

func (p Pred) match(e *Event) bool {
	for name, want := range p {
		if v, ok := e.attr(name); !ok || v != plain(want) {
			return false
		}
	}
	return true
}
