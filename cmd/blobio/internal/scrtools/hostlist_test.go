package scrtools_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cli"
)

func TestScrHostlist(t *testing.T) {
	for _, c := range []struct{ args, in, want string }{
		{"atlas3 atlas6 atlas5 atlas7", "", "atlas[3,5-7]\n"},
		{"atlas3,atlas6,atlas5,atlas7", "", "atlas[3,5-7]\n"},
		{"", "atlas7\natlas3\n\natlas[5-6]\n", "atlas[3,5-7]\n"},
		{"n1 - n9", "n[4-5]", "n[1,4-5,9]\n"},
		{"--expand n[3,1] n3", "", "n3\nn1\nn3\n"},
		{"--expand --sort n[3,1] n3", "", "n1\nn3\nn3\n"},
		{"--expand --union n[3,1] n3", "", "n3\nn1\n"},
		{"--expand --separator , n[08-10]", "", "n08,n09,n10\n"},
		{"--count n[1-4] n4", "", "5\n"},
		{"--count --union n[1-4] n4", "", "4\n"},
		{"--count", "", "0\n"},
		{"", "", ""},
		{"--expand", "", ""},
		{"--nth 1 n[3,1]", "", "n3\n"},
		{"--nth -1 n[3,1]", "", "n1\n"},
		{"--nth=1 --sort n[3,1]", "", "n1\n"},
		{"--minus atlas[3,5-7]:atlas[5,7]", "", "atlas[3,6]\n"},
		{"--minus n[1-2]:n[1-2] --count", "", "0\n"},
		{"--minus n[1-2]:", "", "n[1-2]\n"},
		{"--intersection atlas[3,5-7]:atlas[1-6] --expand", "", "atlas3\natlas5\natlas6\n"},
	} {
		r := hostlistIn(t, c.in, strings.Fields(c.args)...)
		if r.Code != cli.Good || r.Out != c.want || r.Err != "" {
			t.Errorf("hostlist %s < %q: %+v, want %q", c.args, c.in, r, c.want)
		}
	}
}

func hostlistIn(t *testing.T, in string, args ...string) clitest.Result {
	t.Helper()
	var out, errs bytes.Buffer
	e := &cli.Env{Stdin: strings.NewReader(in), Stdout: &out, Stderr: &errs, Args: append([]string{"scr", "hostlist"}, args...)}
	code := verbs.Run(t.Context(), e)
	return clitest.Result{Code: code, Out: out.String(), Err: errs.String()}
}

func TestScrHostlistJSON(t *testing.T) {
	var x struct {
		Compressed string
		Count      int
		Hosts      []string
		Host       *string
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "scr", "hostlist", "--json", "n[1-2]", "n2")), &x))
	if x.Compressed != "n[1-2,2]" || x.Count != 3 || strings.Join(x.Hosts, " ") != "n1 n2 n2" {
		t.Errorf("%+v", x)
	}
	clitest.Shows(t, `"hosts": []`, "scr", "hostlist", "--json", "--minus", "n1:n1")
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "scr", "hostlist", "--json", "--nth", "2", "n[1-2]")), &x))
	if x.Host == nil || *x.Host != "n2" {
		t.Errorf("%+v", x)
	}
}

func TestScrHostlistErrors(t *testing.T) {
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"is not closed", []string{"n[1-2"}},
		{"A:B", []string{"--minus", "n1"}},
		{"A:B", []string{"--intersection", "a:b:c"}},
		{"one too many", []string{"--minus", "n1:n2", "n3"}},
		{"cannot be combined", []string{"--minus", "a:b", "--intersection", "a:b"}},
		{"cannot be combined", []string{"--count", "--expand", "n1"}},
		{"--nth 0", []string{"--nth", "0", "n1"}},
		{"more than 1048576 hosts", []string{"n[1-1048577]"}},
		{"more than 1048576 hosts", []string{"n[1-1048576]", "n1"}},
		{"needs --expand", []string{"--separator", ",", "n1"}},
	} {
		clitest.Bad(t, cli.Failed, c.words, append([]string{"scr", "hostlist"}, c.args...)...)
	}
	r := hostlistIn(t, "", "--nth", "3", "n[1-2]")
	if r.Code != cli.Findings || r.Out != "" || !strings.Contains(r.Err, "no host 3: the list has 2 hosts") {
		t.Errorf("--nth 3 of 2: %+v", r)
	}
}
