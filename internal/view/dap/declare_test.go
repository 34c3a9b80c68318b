package dap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"blobio/cdf5"
)

func TestDDS(t *testing.T) {
	d := small().dataset(AnyClient)
	want := `Dataset {
    Float64 time[time = 3];
    Float32 lev[lev = 4];
    Grid {
      Array:
        Float32 T[time = 3][lev = 4];
      Maps:
        Float64 time[time = 3];
        Float32 lev[lev = 4];
    } T;
    Float64 area[ncol = 5];
    String date[time = 3];
    Float64 P0;
    Byte flag[ncol = 5];
    Float64 count[ncol = 5];
    Int32 a%20b[ncol = 5];
} small.nc;
`
	if diff := cmp.Diff(want, string(request(t, d, "").AppendDDS(nil))); diff != "" {
		t.Error(diff)
	}
	// The answer has the variables in the order of the dataset, regardless of the order in the constraint.
	want = `Dataset {
    Grid {
      Array:
        Float32 T[time = 1][lev = 2];
      Maps:
        Float64 time[time = 1];
        Float32 lev[lev = 2];
    } T;
    Float64 P0;
    Int32 a%20b[ncol = 2];
} small.nc;
`
	if diff := cmp.Diff(want, string(request(t, d, "a%20b[1:2:4],P0,T[2][1:2:3]").AppendDDS(nil))); diff != "" {
		t.Error(diff)
	}
	want = `Dataset {
    Structure {
        Float32 T[time = 1][lev = 4];
        Float32 lev[lev = 4];
    } T;
} small.nc;
`
	if diff := cmp.Diff(want, string(request(t, d, "T.T[2:2][0:3],T.lev,T.lev").AppendDDS(nil))); diff != "" {
		t.Error(diff)
	}
}

func TestDAS(t *testing.T) {
	d := small().dataset(AnyClient)
	want := `Attributes {
    time {
        String units "days";
    }
    lev {
    }
    T {
        Float32 _FillValue 1e+20;
    }
    area {
    }
    date {
        Int32 DODS.strlen 8;
        String DODS.dimName "chars";
    }
    P0 {
    }
    flag {
        String _Unsigned "false";
    }
    count {
        String blobio_type "int64";
        Float64 _FillValue -9.223372036854776e+18;
    }
    a%20b {
        String blobio_type "ushort";
        Int32 _FillValue 65535;
    }
    NC_GLOBAL {
        String title "a \"b\" \\ c
d";
        Int32 version 1, -2;
    }
    DODS_EXTRA {
        String Unlimited_Dimension "time";
    }
}
`
	if diff := cmp.Diff(want, string(d.AppendDAS(nil))); diff != "" {
		t.Error(diff)
	}
}

// TestFillOfChanged checks that clients recognize unwritten elements as fill values, even if the client's type has another
// default fill value.
func TestFillOfChanged(t *testing.T) {
	own := []cdf5.Att{{Name: "_FillValue", Type: cdf5.UInt, Value: []uint32{7}}}
	m := small()
	m.hdr.Vars = []cdf5.Var{{Name: "a", Type: cdf5.UByte}, {Name: "b", Type: cdf5.UShort}, {Name: "c", Type: cdf5.UInt}, {Name: "d", Type: cdf5.UInt64},
		{Name: "e", Type: cdf5.UInt, Atts: own}, {Name: "f", Type: cdf5.UShort, Atts: own}, {Name: "g", Type: cdf5.Short}}
	m.fill()
	das := string(m.dataset(AnyClient).AppendDAS(nil))
	for name, want := range map[string]string{"a": "", "b": "Int32 _FillValue 65535;", "c": "Float64 _FillValue 4294967295;", "d": "Float64 _FillValue 1.8446744073709552e+19;",
		"e": "Float64 _FillValue 7;", "f": "Float64 _FillValue 7;", "g": ""} {
		_, atts, _ := strings.Cut(das, "    "+name+" {\n")
		atts, _, _ = strings.Cut(atts, "}")
		if n := strings.Count(atts, "_FillValue"); n > 1 || (n == 1) != (want != "") || !strings.Contains(atts, want) {
			t.Errorf("%s has %q, want %q", name, atts, want)
		}
	}
}

// TestNetCDFClient checks that names which the netCDF library rejects or misinterprets get another encoding.
func TestNetCDFClient(t *testing.T) {
	for agent, want := range map[string]Client{"oc4.9.0": NetCDFClient, "netCDF4.9.2": NetCDFClient, "curl/8": AnyClient, "": AnyClient, "october": AnyClient} {
		if c := ClientOf(agent); c != want {
			t.Errorf("%q is client %d, want %d", agent, c, want)
		}
	}
	m := small()
	m.hdr.Vars[3].Name, m.hdr.Vars[5].Name = "é", "sumGlobal"
	m.fill()
	q := request(t, m.dataset(NetCDFClient), "_%C3%A9,sumGlobal")
	want := "Dataset {\n    Float64 _%C3%A9[ncol = 5];\n    Float64 sumGlobal;\n} small.nc;\n"
	if diff := cmp.Diff(want, string(q.AppendDDS(nil))); diff != "" {
		t.Error(diff)
	}
	for c, want := range map[Client]int{AnyClient: 1, NetCDFClient: 0} {
		if n := countOf(string(m.dataset(c).AppendDAS(nil)), "sumGlobal {"); n != want {
			t.Errorf("client %d is told of the attributes %d times, want %d", c, n, want)
		}
	}
}

func countOf(s, sub string) (n int) {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			n++
		}
	}
	return n
}
