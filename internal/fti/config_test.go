package fti

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"blobio/internal/base/fault"
)

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(fmt.Sprintf(template, "")), "config", 8)
	must(t, err)
	if c.LocalDir != "Local" || c.GlobalDir != "Global" || c.MetaDir != "Meta" || c.NodeSize != 1 || c.GroupSize != 4 || c.Every[1] != 3 || !c.LocalTest {
		t.Errorf("%+v", c)
	}
	for more, class := range map[string]error{
		"head = 1":                    fault.ErrUnsupported,
		"inline_l3 = 0":               fault.ErrUnsupported,
		"enable_staging = 1":          fault.ErrUnsupported,
		"h5_single_file_enable = yes": fault.ErrUnsupported,
		"ckpt_io = 5":                 fault.ErrUnsupported,
		"ckpt_l2 = two":               fault.ErrUsage,
		"node_size = 3":               fault.ErrUsage,
		"node_size = 0":               fault.ErrUsage,
		"group_size = 3":              fault.ErrUsage,
		"group_size = 1\nckpt_l3 = 5": fault.ErrUsage,
		"meta_dir =":                  fault.ErrUsage,
		"verbosity = 0":               fault.ErrUsage,
		"verbosity = 4":               fault.ErrUsage,
		"[Advanced]\nblock_size = 0":  fault.ErrUsage,
		"keep_last_ckpt = ?":          fault.ErrUsage,
		"keep_last_ckpt = 2":          fault.ErrUsage,
		"inline_l2 =":                 fault.ErrUnsupported,
		"verbosity =":                 fault.ErrUsage,
		"[Advanced]\nlocal_test = 2":  fault.ErrUsage,
		"[Restart]\nfailure = 7":      fault.ErrUsage,
	} {
		text := strings.Replace(fmt.Sprintf(template, more), "Failure = 0\n", "", 1)
		_, err := ParseConfig([]byte(text), "config", 8)
		var at *fault.FormatError
		if !errors.Is(err, class) || !errors.As(err, &at) || at.File != "config" || at.Field == "" {
			t.Errorf("%q: %v", more, err)
		}
	}
	for _, id := range []string{"", "..", "a/b"} {
		text := strings.Replace(fmt.Sprintf(template, ""), "Failure = 0\nExec_ID = NONE", "Failure = 1\nExec_ID = "+id, 1)
		if _, err := ParseConfig([]byte(text), "config", 8); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("run %q: %v", id, err)
		}
	}
}

// TestWarnings: settings that FTI ignores do not end FTI_Init here either.
func TestWarnings(t *testing.T) {
	type result struct {
		warnings int
		diff     bool
	}
	for more, want := range map[string]result{
		"dcp_block_size = 100":                 {1, false},
		"dcp_block_size = 65536":               {1, false},
		"dcp_mode = 0":                         {1, false},
		"dcp_mode = 2":                         {0, true},
		"dcp_mode = 3":                         {1, false},
		"enable_dcp = 0\ndcp_block_size = 100": {0, false},
		"max_var_id = 99999999999":             {1, true},
		"inline_l2 = 5":                        {0, true},
		"ckpt_io = 9":                          {0, true},
		"[Restart]\nfailure = 3":               {1, true},
	} {
		text := strings.Replace(fmt.Sprintf(template, more), "Failure = 0\n", "", 1)
		c, err := ParseConfig([]byte(text), "config", 8)
		must(t, err)
		if c.Failure != 0 || len(c.Warnings) != want.warnings || c.Diff != want.diff || c.MaxVarID != maxVarID || c.Mode > 6 {
			t.Errorf("%q: %+v", more, c)
		}
	}
}

// TestAbsent: a configuration without a key means the same as for FTI, which demands some keys.
func TestAbsent(t *testing.T) {
	without := func(key string) (*Config, error) {
		var text strings.Builder
		for line := range strings.Lines(fmt.Sprintf(template, "")) {
			if name, _, _ := strings.Cut(line, " ="); strings.ToLower(name) != key {
				text.WriteString(line)
			}
		}
		return ParseConfig([]byte(text.String()), "config", 8)
	}
	for _, key := range []string{"node_size", "ckpt_dir", "glbl_dir", "meta_dir", "verbosity", "local_test", "block_size"} {
		var at *fault.FormatError
		if _, err := without(key); !errors.As(err, &at) || !strings.HasSuffix(at.Field, ":"+key) || !strings.Contains(err.Error(), "absent") {
			t.Errorf("%s: %v", key, err)
		}
	}
	full, err := without("")
	must(t, err)
	for key, change := range map[string]func(c *Config){
		"head":           func(c *Config) {},
		"ckpt_l1":        func(c *Config) { c.Every[1] = 0 },
		"group_size":     func(c *Config) { c.GroupSize = 1 },
		"ckpt_io":        func(c *Config) { c.Mode = 1 },
		"enable_dcp":     func(c *Config) { c.Diff, c.BlockSize = false, 0 },
		"dcp_mode":       func(c *Config) { c.Diff, c.BlockSize = false, 0 },
		"dcp_block_size": func(c *Config) { c.Diff, c.BlockSize = false, 0 },
		"failure":        func(c *Config) {},
		"exec_id":        func(c *Config) { c.ExecID = "" },
	} {
		c, err := without(key)
		must(t, err)
		want := *full
		change(&want)
		if warned := len(c.Warnings) > 0; warned != strings.HasPrefix(key, "dcp_") {
			t.Errorf("%s: warnings %v", key, c.Warnings)
		}
		if c.Warnings = nil; !reflect.DeepEqual(*c, want) {
			t.Errorf("%s: %+v, want %+v", key, *c, want)
		}
	}
}

func TestSetRestart(t *testing.T) {
	for in, want := range map[string]string{
		"[Restart]\nFailure = 0 # a\nExec_ID=x\n[B]\nfailure = 9": "[Restart]\nFailure = 1 # a\nExec_ID= id\n[B]\nfailure = 9",
		"[restart]\nfailure = \"0\";b\r\n":                        "[restart]\nfailure = 1 ;b\r\n[Restart]\nexec_id = id\n",
		"[Restart]\nFailure=0\nExec_ID=x\nfailure = 0":            "[Restart]\nFailure= 1\nExec_ID= id\nfailure = 1",
		"[Basic]\nhead = 0":                                       "[Basic]\nhead = 0\n[Restart]\nfailure = 1\nexec_id = id\n",
	} {
		got := SetRestart([]byte(in), 1, "id")
		if string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if again := SetRestart(got, 1, "id"); string(again) != string(got) {
			t.Errorf("%q: again: %q", in, again)
		}
	}
}
