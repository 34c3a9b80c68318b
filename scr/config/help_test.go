package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/scr-parameters.md anew")

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("..", "..", "docs", "scr-parameters.md")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), b.Bytes()) {
		t.Error("docs/scr-parameters.md is not what the table says: go test ./scr/config -update")
	}
}

// TestDefect11Defaults: documents and code of the reference disagree on defaults. Here a parameter that nobody set has the value
// that the page and the help tell, for each of them, and each that is there is on the page once.
func TestDefect11Defaults(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scr-parameters.md"))
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	if err := WriteHelp(&help); err != nil {
		t.Fatal(err)
	}
	set := load(t, "", "")
	said := map[string]string{}
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		name := strings.Trim(strings.TrimPrefix(cells[0], "|"), " `")
		if !strings.HasPrefix(line, "| `SCR_") || len(cells) < 5 {
			continue
		}
		if _, ok := said[name]; ok {
			t.Errorf("%s is there twice", name)
		}
		said[name] = strings.Trim(cells[1], "` ")
	}
	for _, p := range Params() {
		def, ok := said[p.Name]
		delete(said, p.Name)
		if !ok {
			t.Errorf("%s is not on the page", p.Name)
			continue
		}
		if def == linuxBase {
			def = builtin(&p)
		}
		if v := set.Lookup(p.Name); v.Text != def || def != "" && v.Origin != (Origin{Source: Default}) {
			t.Errorf("%s is %q (%v), the page says %q", p.Name, v.Text, v.Origin, def)
		}
		if def != "" && !strings.Contains(help.String(), "  "+p.Name+"="+def+"\n") {
			t.Errorf("the help has another default of %s than %q", p.Name, def)
		}
	}
	if len(said) > 0 {
		t.Errorf("on the page alone: %v", said)
	}
}

func TestHelp(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHelp(&b); err != nil {
		t.Fatal(err)
	}
	for _, p := range Params() {
		if !strings.Contains(b.String(), "  "+p.Name+"=") || !strings.Contains(b.String(), p.Help+"\n") {
			t.Errorf("%s is not in the help", p.Name)
		}
	}
}

func TestSettingsHideSecrets(t *testing.T) {
	for _, s := range load(t, "", "", "SCR_LOG_DB_PASS=hush").Settings() {
		if s.Value.Text == "hush" {
			t.Errorf("%+v", s)
		}
	}
}
