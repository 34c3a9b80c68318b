package config

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestDefect11Defaults checks that each unset parameter has the default in the manual, and that the manual lists each parameter
// once. In the original SCR the documentation and the code disagree about defaults.
func TestDefect11Defaults(t *testing.T) {
	var manual bytes.Buffer
	if err := WriteManual(&manual); err != nil {
		t.Fatal(err)
	}
	set := load(t, "", "")
	for _, p := range Params() {
		said := ""
		if lines := regexp.MustCompile(`(?m)^  `+p.Name+`=(.*)   \[`).FindAllStringSubmatch(manual.String(), -1); len(lines) != 1 {
			t.Errorf("the manual has %s %d times", p.Name, len(lines))
		} else {
			said = lines[0][1]
		}
		v := set.Lookup(p.Name)
		if v.Text == "" {
			if p.Kind != kindChoice && said != "<"+p.Kind.String()+">" {
				t.Errorf("%s has no default, the manual says %q", p.Name, said)
			}
		} else if v.Text != said || v.Origin != (Origin{Source: Default}) {
			t.Errorf("%s is %q (%v), the manual says %q", p.Name, v.Text, v.Origin, said)
		}
	}
}

func TestManual(t *testing.T) {
	var b bytes.Buffer
	if err := WriteManual(&b); err != nil {
		t.Fatal(err)
	}
	for _, p := range Params() {
		if !strings.Contains(b.String(), "  "+p.Name+"=") || !strings.Contains(b.String(), p.Help+"\n") {
			t.Errorf("%s is not in the manual", p.Name)
		}
	}
}

func TestSettingsHideSecrets(t *testing.T) {
	for _, s := range Settings(load(t, "", "", "SCR_LOG_DB_PASS=hush")) {
		if s.Value.Text == "hush" {
			t.Errorf("%+v", s)
		}
	}
}
