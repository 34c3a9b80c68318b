package ffformat

import "fmt"

// Layout is one of the seven forms that FTI-FF files have had. A file does not
// say which: it is found by its content, see Decode.
type Layout uint8

// The layouts, by the versions of FTI that write them.
const (
	LayoutA  Layout = 1 + iota // v1.1
	LayoutB                    // v1.2
	LayoutC0                   // never released
	LayoutC                    // v1.3
	LayoutD                    // v1.4
	LayoutE                    // v1.5, v1.5.1, v1.6: 32-bit sizes
	LayoutF                    // after v1.6
)

var layoutNames = [...]string{LayoutA: "A", LayoutB: "B", LayoutC0: "C0", LayoutC: "C", LayoutD: "D", LayoutE: "E", LayoutF: "F"}

func (l Layout) valid() bool { return l >= LayoutA && l <= LayoutF }

func (l Layout) String() string {
	if !l.valid() {
		return fmt.Sprintf("Layout(%d)", uint8(l))
	}
	return layoutNames[l]
}
