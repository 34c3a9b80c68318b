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
