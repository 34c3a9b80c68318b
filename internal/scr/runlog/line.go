package runlog

import (
	"strconv"
	"strings"
	"time"
)

// TimeFormat is the format of the local time at the beginning of each line.
const TimeFormat = "2006-01-02T15:04:05"

// AppendLine appends the line of e without a newline.
func (e *Entry) AppendLine(dst []byte) []byte {
	dst = e.Time.AppendFormat(dst, TimeFormat)
	return e.AppendFields(append(dst, ": "...))
}

// AppendFields appends the line of e without the time. Syslog gets this text.
func (e *Entry) AppendFields(dst []byte) []byte {
	w := lineWriter{dst: dst}
	w.bare("host", e.Host)
	w.bare("jobid", e.JobID)
	if e.Event != "" {
		w.bare("event", e.Event)
	} else {
		w.bare("xfer", e.Xfer)
	}
	w.quoted("note", e.Note)
	if e.From != "" {
		w.bare("from", e.From)
	}
	if e.To != "" {
		w.bare("to", e.To)
	}
	w.integer("dset", e.Dset)
	w.quoted("name", e.Name)
	w.integer("procs", e.Procs)
	w.integer("nodes", e.Nodes)
	if e.Took != nil {
		w.key("secs")
		w.dst = strconv.AppendFloat(w.dst, e.Took.Seconds(), 'f', 6, 64)
	}
	if e.Bytes != nil {
		// The original SCR uses a double, which is inexact for integers above 2^53.
		w.integer("bytes", e.Bytes)
		w.dst = append(w.dst, ".000000"...)
	}
	w.integer("files", e.Files)
	return w.dst
}

type lineWriter struct {
	dst  []byte
	more bool
}

func (w *lineWriter) key(k string) {
	if w.more {
		w.dst = append(w.dst, ", "...)
	}
	w.more = true
	w.dst = append(append(w.dst, k...), '=')
}

func (w *lineWriter) integer(k string, n *int64) {
	if n != nil {
		w.key(k)
		w.dst = strconv.AppendInt(w.dst, *n, 10)
	}
}

// bare writes a text without quotes if it can be read back unambiguously; otherwise it writes the text with quotes.
func (w *lineWriter) bare(k, v string) {
	w.key(k)
	if strings.ContainsAny(v, `,"\=`) || strings.TrimSpace(v) != v {
		w.quote(v)
		return
	}
	w.dst = append(w.dst, plain(v)...)
}

func (w *lineWriter) quoted(k, v string) {
	if v != "" {
		w.key(k)
		w.quote(v)
	}
}

func (w *lineWriter) quote(v string) {
	w.dst = append(w.dst, '"')
	for _, c := range []byte(plain(v)) {
		if c == '"' || c == '\\' {
			w.dst = append(w.dst, '\\')
		}
		w.dst = append(w.dst, c)
	}
	w.dst = append(w.dst, '"')
}

// plain replaces control characters by blanks, so that an entry stays on one line.
func plain(v string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, v)
}

// ParseLine parses one line, without its newline. loc is the zone of the line's time. ok is false if the line is no log entry,
// because it has no time, or neither an event nor a transfer.
func ParseLine(line string, loc *time.Location) (e Entry, ok bool) {
	stamp, rest, found := strings.Cut(strings.TrimRight(line, "\r"), ": ")
	if !found {
		return e, false
	}
	var err error
	if e.Time, err = time.ParseInLocation(TimeFormat, stamp, loc); err != nil {
		return e, false
	}
	for rest != "" {
		k, v, after, ok := nextField(rest)
		if !ok || !e.set(k, v) {
			return e, false
		}
		rest = after
	}
	return e, (e.Event != "") != (e.Xfer != "")
}

// nextField returns the key and the value of the first field, and the rest of the line.
func nextField(s string) (key, value, rest string, ok bool) {
	key, s, ok = strings.Cut(s, "=")
	if !ok || !word(key) {
		return "", "", "", false
	}
	if strings.HasPrefix(s, `"`) {
		if v, rest, ok := unquote(s); ok {
			return key, v, rest, true
		}
	}
	// A value without quotes extends to the beginning of the next field, because values that SCR writes may contain a comma or
	// begin with a quote.
	for i := 0; ; {
		j := strings.Index(s[i:], ", ")
		if j < 0 {
			return key, s, "", true
		}
		i += j + 2
		if k, _, ok := strings.Cut(s[i:], "="); ok && word(k) {
			return key, s[:i-2], s[i:], true
		}
	}
}

// unquote parses a quoted text. SCR does not escape quotes. Therefore the text ends at the first quote that the next field or the
// end of the line follows.
func unquote(s string) (v, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case s[i] == '"' && i+1 == len(s):
			return b.String(), "", true
		case s[i] == '"' && strings.HasPrefix(s[i+1:], ", "):
			if k, _, ok := strings.Cut(s[i+3:], "="); ok && word(k) {
				return b.String(), s[i+3:], true
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// word reports whether k looks like a field name.
func word(k string) bool {
	if k == "" || len(k) > 32 {
		return false
	}
	for i := range len(k) {
		if c := k[i]; (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// set stores a field. It returns false if a number is invalid.
func (e *Entry) set(k, v string) bool {
	switch k {
	case "host":
		e.Host = v
	case "jobid":
		e.JobID = v
	case "event":
		e.Event = v
	case "xfer":
		e.Xfer = v
	case "note":
		e.Note = v
	case "from":
		e.From = v
	case "to":
		e.To = v
	case "name":
		e.Name = v
	case "dset":
		return number(&e.Dset, v)
	case "procs":
		return number(&e.Procs, v)
	case "nodes":
		return number(&e.Nodes, v)
	case "files":
		return number(&e.Files, v)
	case "bytes":
		whole, frac, _ := strings.Cut(v, ".")
		return strings.Trim(frac, "0123456789") == "" && number(&e.Bytes, whole)
	case "secs":
		s, err := strconv.ParseFloat(v, 64)
		// No run lasts 30 years. The limit also prevents overflow of a Duration when times of many entries are added.
		if err != nil || !(s >= -1e9 && s <= 1e9) {
			return false
		}
		d := time.Duration(s*1e6+sign(s)/2) * time.Microsecond
		e.Took = &d
	}
	return true
}

func sign(s float64) float64 {
	if s < 0 {
		return -1
	}
	return 1
}

func number(to **int64, v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return false
	}
	*to = &n
	return true
}
