package redset

import (
	"blobio/internal/base/fault"
	"fmt"
)

// Scheme is a method to protect the files of a set of ranks.
type Scheme uint8

// Schemes. N is the number of members of a set.
const (
	Single  Scheme = iota // no redundancy, only a list of files with checksums
	Partner               // each member has copies of its left neighbours, as many as Replicas
	XOR                   // any one member may be lost; takes 1/(N-1) more space
	RS                    // Reed-Solomon: any K members may be lost; takes K/(N-K) more space
	numSchemes
)

// schemeNames are the values of the TYPE key. File names contain them in lower case.
var schemeNames = [numSchemes]string{"SINGLE", "PARTNER", "XOR", "RS"}

// String returns the name of the scheme, as the TYPE key of a header has it.
func (s Scheme) String() string {
	if s < numSchemes {
		return schemeNames[s]
	}
	return fmt.Sprintf("Scheme(%d)", uint8(s))
}

// ParseScheme parses a TYPE value in upper case.
func ParseScheme(name string) (Scheme, error) {
	for s, n := range schemeNames {
		if n == name {
			return Scheme(s), nil
		}
	}
	return 0, fault.Usage("scheme %q, want one of %v", name, schemeNames)
}

// Generation is one of the three forms of names and headers of SCR's redundancy files; see docs/format-redset.md.
type Generation uint8

// Generations. A and B support only XOR.
const (
	GenC Generation = iota // SCR 3 and redset; the default
	GenB                   // SCR 1.1.8 to 2.0
	GenA                   // SCR before 1.1.8
	numGenerations
)

// String returns the letter of the generation.
func (g Generation) String() string {
	if g < numGenerations {
		return "CBA"[g : g+1]
	}
	return fmt.Sprintf("Generation(%d)", uint8(g))
}
