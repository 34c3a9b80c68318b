package config

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const guide = `
GROUPS=zin1  POWER=psu1  SWITCH=0
GROUPS=zin2  POWER=psu1  SWITCH=1
GROUPS=zin3  POWER=psu2  SWITCH=0
GROUPS=zin4  POWER=psu2
STORE=/tmp          GROUP=NODE   COUNT=1
STORE=/ssd/         GROUP=NODE   COUNT=3  TYPE=bbapi
STORE=/dev/persist  GROUP=POWER  COUNT=1  ENABLED=0  MKDIR=0
STORE=/p/lscratcha  GROUP=WORLD  FLUSH=pthread
SCR_COPY_TYPE=FILE
CKPT=0 INTERVAL=1 GROUP=NODE   STORE=/tmp TYPE=XOR     SET_SIZE=16
CKPT=1 INTERVAL=4 GROUP=NODE   STORE=/ssd TYPE=XOR     SET_SIZE=8
CKPT=2 INTERVAL=8 GROUP=SWITCH STORE=/ssd TYPE=PARTNER OUTPUT=1
CNTLDIR=/tmp BYTES=100MB
CACHEDIR=/ssd BYTES=1.5g
CACHEDIR=/tmp
`

func TestGroups(t *testing.T) {
	g, err := GroupsOf(load(t, guide, ""))
	if err != nil || strings.Join(g.Names, " ") != "POWER SWITCH" {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, c := range []struct {
		host, name, value string
		ok                bool
	}{
		{"zin1", "POWER", "psu1", true}, {"zin3", "POWER", "psu2", true}, {"zin3", "SWITCH", "0", true},
		{"zin4", "SWITCH", "", false}, {"other", "POWER", "", false},
		{"other", "NODE", "other", true}, {"other", "WORLD", "", true},
	} {
		if v, ok := g.Value(c.host, c.name); v != c.value || ok != c.ok {
			t.Errorf("%s in %s: %q, %v", c.host, c.name, v, ok)
		}
	}
	if !g.Has("WORLD") || !g.Has("POWER") || g.Has("RACK") {
		t.Error("Has")
	}
	if _, err := GroupsOf(load(t, "GROUPS=a NODE=1", "")); !errors.Is(err, ErrUsage) {
		t.Errorf("NODE defined anew: %v", err)
	}
}

func TestStores(t *testing.T) {
	s := load(t, guide, "", "SCR_CACHE_SIZE=5", "SCR_CACHE_BASE=/tmp", "SCR_CNTL_BASE=/run")
	got, err := StoresOf(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []Store{
		{Name: "/dev/persist", Group: "POWER", Count: 1, Enabled: false, Mkdir: false, Type: "SYNC"},
		{Name: "/p/lscratcha", Group: "WORLD", Count: 5, Enabled: true, Mkdir: true, Type: "PTHREAD"},
		{Name: "/run", Group: "NODE", Count: 0, Enabled: true, Mkdir: true, Type: "SYNC"},
		{Name: "/ssd", Group: "NODE", Count: 3, Enabled: true, Mkdir: true, Type: "BBAPI"},
		{Name: "/tmp", Group: "NODE", Count: 1, Enabled: true, Mkdir: true, Type: "SYNC"}, // the STORE line overrides the cache size
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range got {
		got[i].Origin = Origin{}
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

func TestDescriptors(t *testing.T) {
	s := load(t, guide, "", "SCR_CACHE_BYPASS=0")
	d, err := DescriptorsOf(s)
	if err != nil || len(d) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	at := Origin{UserFile, abs("/d/.scrconf"), 13}
	if want := (Descriptor{Index: 2, Enabled: true, Interval: 8, Output: true, Group: "SWITCH", Store: "/ssd", Type: "PARTNER",
		SetSize: 8, SetFailures: 2, Replicas: 1, HopDistance: 1, Origin: at}); d[2] != want {
		t.Errorf("%+v, want %+v", d[2], want)
	}
	if d[0].SetSize != 16 || d[0].Bypass {
		t.Errorf("%+v", d[0])
	}
	for id, want := range map[int64]int{1: 0, 4: 1, 8: 2, 12: 1, 14: 0} {
		if got, err := Select(d, id, false); err != nil || got != want {
			t.Errorf("checkpoint %d: %d, %v", id, got, err)
		}
	}
	if got, err := Select(d, 1, true); err != nil || got != 2 {
		t.Errorf("output: %d, %v", got, err)
	}
}

func TestImpliedDescriptor(t *testing.T) {
	s := load(t, guide, "", "SCR_COPY_TYPE=rs", "SCR_SET_FAILURES=3", "SCR_CACHE_BASE=/ssd/x/..", "SCR_GROUP=POWER")
	d, err := DescriptorsOf(s)
	if err != nil || len(d) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	d[0].Origin = Origin{}
	if want := (Descriptor{Enabled: true, Interval: 1, Bypass: true, Group: "POWER", Store: "/ssd", Type: "RS", SetSize: 8, SetFailures: 3, Replicas: 1, HopDistance: 1}); d[0] != want {
		t.Errorf("%+v", d[0])
	}
}

func TestDescriptorErrors(t *testing.T) {
	head := "SCR_COPY_TYPE=FILE\nSTORE=/off ENABLED=0\n"
	for _, c := range []struct{ text, want string }{
		{"", "there is no CKPT line"},
		{"CKPT=1", `:3: CKPT is "1", want numbers from 0 to 0`},
		{"CKPT=x", `:3: CKPT is "x", want numbers`},
		{"CKPT=0 INTERVAL=2", "one enabled descriptor of INTERVAL=1"},
		{"CKPT=0 ENABLED=0", "one enabled descriptor of INTERVAL=1"},
		{"CKPT=0\nCKPT=00", `CKPT is "0", want each number once`},
		{"CKPT=0 INTERVAL=0", `:3: CKPT=0 INTERVAL is "0", want an integer from 1`},
		{"CKPT=0 TYPE=FILE", `CKPT=0 TYPE is "FILE", want one of SINGLE, PARTNER, XOR, RS`},
		{"CKPT=0 STORE=/nix", `CKPT=0 STORE is "/nix", want a store`},
		{"CKPT=0 STORE=/off", `CKPT=0 STORE is "/off", want a store that is enabled`},
		{"CKPT=0 GROUP=RACK", `CKPT=0 GROUP is "RACK", want NODE, WORLD or`},
		{"CKPT=0 SET_SIZE=1", `CKPT=0 SET_SIZE is "1", want at least 2 for XOR`},
		{"CKPT=0 TYPE=RS SET_SIZE=4 SET_FAILURES=4", `SET_FAILURES is "4", want less than SET_SIZE`},
		{"CKPT=0 TYPE=RS SET_SIZE=250 SET_FAILURES=7", `SET_SIZE is "250", want at most 256 together`},
		{"CKPT=0 INTERVALL=4", `CKPT=0 INTERVALL is "4", want one of the keys INTERVAL,`},
		{"CKPT=0\nSTORE=/x COUNT=-1", `:4: STORE=/x COUNT is "-1", want an integer from 0`},
		{"CKPT=0\nSTORE=/x GROUP=RACK", `:4: STORE=/x GROUP is "RACK"`},
		{"CKPT=0\n" + strings.Repeat("CKPT=0 TYPE=XOR\n", 3) + "SCR_SET_SIZE=0", `:7: SCR_SET_SIZE is "0", want an integer from 1`},
	} {
		_, err := DescriptorsOf(load(t, head+c.text, ""))
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.text, err, c.want)
		}
	}
	// Faults of several lines are reported together.
	_, err := DescriptorsOf(load(t, head+"CKPT=0 TYPE=A\nCKPT=1 GROUP=B", ""))
	if err == nil || strings.Count(err.Error(), "want") != 2 {
		t.Errorf("%v", err)
	}
	// Errors about the descriptor made from parameters name the parameter.
	_, err = DescriptorsOf(load(t, "", "", "SCR_GROUP=RACK"))
	if err == nil || !strings.Contains(err.Error(), `environment: SCR_GROUP is "RACK"`) {
		t.Errorf("%v", err)
	}
}

func TestCapacities(t *testing.T) {
	s := load(t, guide, "")
	c, err := CapacitiesOf(s, "CACHEDIR")
	if err != nil || len(c) != 2 || c[0] != (Capacity{"/ssd", 3 << 29}) || c[1] != (Capacity{"/tmp", 0}) {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = CapacitiesOf(load(t, "", "", "SCR_CNTL_BASE=/c"), "CNTLDIR")
	if err != nil || len(c) != 1 || c[0] != (Capacity{"/c", 0}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := CapacitiesOf(load(t, "CNTLDIR=/c BYTES=lots", ""), "CNTLDIR"); !errors.Is(err, ErrUsage) {
		t.Errorf("%v", err)
	}
}

// Select returns the largest enabled interval that divides the id.
func TestSelectIsLargestDivisor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Descriptor {
			return Descriptor{Enabled: rapid.Bool().Draw(t, "on"), Interval: rapid.Int64Range(0, 12).Draw(t, "interval")}
		})).Draw(t, "levels")
		id := rapid.Int64Range(1, 1000).Draw(t, "id")
		var best int64
		for _, l := range levels {
			if l.Enabled && l.Interval > best && id%l.Interval == 0 {
				best = l.Interval
			}
		}
		got, err := Select(levels, id, false)
		if (err == nil) != (best > 0) || err == nil && levels[got].Interval != best {
			t.Fatalf("level %d, %v; largest is %d", got, err, best)
		}
	})
}
