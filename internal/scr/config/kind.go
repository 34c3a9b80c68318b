package config

// Kind of the value of a parameter.
type Kind int

// The kinds.
const (
	kindText    Kind = iota // any
	kindPath                // of a directory or file
	kindFlag                // 0 or not 0
	kindInteger             // decimal, from 0 on
	kindNumber              // decimal fraction, from 0 on
	kindSize                // bytes, with unit
	kindTime                // seconds since 1970
	kindChoice              // one of Param.Choices, in either case
)

var kindNames = [...]string{"text", "path", "flag", "integer", "number", "size", "time", "choice"}

// String names the kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Param describes a parameter.
type Param struct {
	Name    string
	Default string // "" where there is none
	Kind    Kind
	Choices []string // of a Choice, upper case
	// Gen are the generations of SCR that know it: some of A (2011 to 2013), B
	// (1.1.8 to 2.0) and C (3.x); "own" where it is an addition of ours.
	Gen       string
	Negative  bool // of an Integer or Number: may be less than 0: no limit
	NoUser    bool // neither environment nor user file may set it
	NoProgram bool // the program may not set it
	Help      string
}
