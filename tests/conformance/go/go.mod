module player

go 1.21

require holdfast v0.0.0

replace holdfast => ../../../client/go
