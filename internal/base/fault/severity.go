package fault

import "fmt"

// Severity of a finding of a check.
type Severity uint8

const (
	// Note: worth knowing, but not wrong.
	Note Severity = iota
	// Warning: not as it should be, but all data can be read.
	Warning
	// Error: data are lost or cannot be trusted.
	Error
	// Unchecked: the file uses unsupported features, so the data were not checked and may be sound.
	Unchecked
)

var severityNames = [...]string{"note", "warning", "error", "unchecked"}

// String returns "note", "warning", "error" or "unchecked".
func (s Severity) String() string {
	if int(s) >= len(severityNames) {
		return fmt.Sprintf("Severity(%d)", uint8(s))
	}
	return severityNames[s]
}

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
