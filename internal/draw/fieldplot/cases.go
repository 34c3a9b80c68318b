package fieldplot

import (
	"blobio/blob"
	"blobio/e3smcases"
)

// maxMade is the maximum number of cells of a mesh generated for a dataset without coordinates.
const maxMade = 200_000

// madeSite generates the site of a variable that may belong to an E3SM case. The columns of a cubed sphere follow from their
// number. An ocean mesh is generated if the numbers of cells, edges and vertices match. madeSite returns nil for other
// variables.
func madeSite(s *blob.Schema, dims []dim) *site {
	lens := map[string]int64{}
	for _, d := range s.Dims() {
		lens[d.Name] = d.Len
	}
	for _, d := range dims {
		x := &site{dims: []string{d.name}, lens: []int64{d.n}}
		switch d.name {
		case "ncol":
			ne := int64(1)
			for 54*ne*ne+2 < d.n {
				ne++
			}
			if 54*ne*ne+2 != d.n || d.n > 54*maxMade {
				continue
			}
			x.made = "a cubed sphere of this size"
			x.makes = func() ([]float32, []float32, error) {
				lon, lat := e3smcases.CoordsF(int(ne))
				return narrow(lon), narrow(lat), nil
			}
			return x
		case "nCells", "nEdges", "nVertices":
			if lens["nCells"] < 4 || lens["nCells"] > maxMade {
				continue
			}
			x.made = "a mesh that blobio generates"
			x.makes = func() (lon, lat []float32, err error) {
				m, err := e3smcases.CoordsG(int(lens["nCells"]))
				if err != nil {
					return nil, nil, err
				}
				if int64(len(m.EdgeLon)) != lens["nEdges"] || int64(len(m.VertexLon)) != lens["nVertices"] {
					return nil, nil, errNowhere
				}
				switch d.name {
				case "nEdges":
					return m.EdgeLon, m.EdgeLat, nil
				case "nVertices":
					return m.VertexLon, m.VertexLat, nil
				}
				return m.CellLon, m.CellLat, nil
			}
			return x
		}
	}
	return nil
}

func narrow(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}
