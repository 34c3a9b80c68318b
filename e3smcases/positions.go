package e3smcases

import (
	"math"

	"blobio/decomp"
	"blobio/internal/fault"
)

// maxPositions bounds the elements of which Positions are made: each takes about 60 bytes, and a small file can have a map of any size.
const maxPositions = 1 << 26

// Positions returns where on the sphere the elements of map Dk lie, longitude and latitude in degrees: one for each column.
// Of f only Ne counts; 0 means the one that follows from the number of columns. Maps that are not of the F case are
// ErrMapMismatch, and more than 2^26 columns ErrTooLarge.
func (f F) Positions(maps []*decomp.Map, k int) (lon, lat []float32, err error) {
	dims, err := dimsOf(maps, k)
	if err != nil {
		return nil, nil, err
	}
	n := dims[len(dims)-1]
	if n > maxPositions {
		return nil, nil, tooMany(n, maxPositions)
	}
	if ne, ok := sideOf(n); !ok || f.Ne != 0 && f.Ne != ne || len(dims) > 2 {
		return nil, nil, fault.Class(fault.ErrMapMismatch, "F: map D%d of %d is not of 54 ne^2 + 2 columns", k, dims)
	}
	lon, lat = columns(n)
	return lon, lat, nil
}

// Positions returns where the elements of map Dk lie, as for F: one for each point of the grid, latitude by latitude. Nothing of i counts.
func (i I) Positions(maps []*decomp.Map, k int) (lon, lat []float32, err error) {
	dims, err := dimsOf(maps, k)
	if err != nil {
		return nil, nil, err
	}
	if len(maps) != len(landLevels)+1 || len(dims) < 2 {
		return nil, nil, fault.Class(fault.ErrMapMismatch, "I: map D%d of %d, of %d maps, is not the grid of an I case", k, dims, len(maps))
	}
	nlat, nlon := dims[len(dims)-2], dims[len(dims)-1]
	if nlon > 0 && nlat > maxPositions/nlon {
		return nil, nil, tooMany(nlat*nlon, maxPositions)
	}
	lon, lat = cells(int(nlat), int(nlon))
	return lon, lat, nil
}

// Positions returns where the elements of map Dk lie, as for F: one for each cell, edge or vertex of the mesh that Maps
// makes. Of g only Seed counts. A mesh of another program is ErrMapMismatch.
func (g G) Positions(maps []*decomp.Map, k int) (lon, lat []float32, err error) {
	dims, err := dimsOf(maps, k)
	if err != nil {
		return nil, nil, err
	}
	if len(maps) != 6 || len(maps[0].Dims()) != 1 || len(maps[1].Dims()) != 1 || len(maps[4].Dims()) != 2 {
		return nil, nil, fault.Class(fault.ErrMapMismatch, "G: these are not the six maps of a G case")
	}
	n, edges, vertices := maps[0].Dims()[0], maps[1].Dims()[0], maps[4].Dims()[0]
	if n > maxCells {
		return nil, nil, tooMany(n, maxCells)
	}
	m, err := CoordsG(int(n), g.Seed)
	if err != nil {
		return nil, nil, err
	}
	if int64(len(m.EdgeLon)) != edges || int64(len(m.VertexLon)) != vertices {
		return nil, nil, fault.Class(fault.ErrMapMismatch, "G: %d edges and %d vertices, the mesh of %d cells that is made here has %d and %d", edges, vertices, n, len(m.EdgeLon), len(m.VertexLon))
	}
	switch dims[0] {
	case n:
		return m.CellLon, m.CellLat, nil
	case edges:
		return m.EdgeLon, m.EdgeLat, nil
	case vertices:
		return m.VertexLon, m.VertexLat, nil
	default:
		return nil, nil, fault.Class(fault.ErrMapMismatch, "G: map D%d is of %d items, the mesh has %d cells, %d edges and %d vertices", k, dims[0], n, edges, vertices)
	}
}

// dimsOf returns the dimensions of map Dk.
func dimsOf(maps []*decomp.Map, k int) ([]int64, error) {
	if k < 1 || k > len(maps) {
		return nil, fault.Usage("map D%d of %d", k, len(maps))
	}
	return maps[k-1].Dims(), nil
}

func tooMany(n, most int64) error {
	return fault.Class(fault.ErrTooLarge, "positions of %d elements, want at most %d", n, most)
}

// sideOf returns the elements along a side of a cube face of the F case with n columns, if there is one.
func sideOf(n int64) (ne int, ok bool) {
	ne = int(math.Round(math.Sqrt(float64(max(n-2, 0)) / 54)))
	return ne, ne > 0 && cube{ne}.cols() == n
}
