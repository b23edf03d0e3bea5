"""Sun from a table, a PV plant, the CIGRE medium-voltage grid and a writer of tables, in mosaik itself.

Writes weather.csv, and the results of mosaik as mosaik.csv, into the folder argv[1].
"""
import math
import sys

import mosaik

folder, start, day = sys.argv[1], "2024-06-01 00:00:00", 86400
with open(f"{folder}/weather.csv", "w") as out:
    out.write("Weather\nTime,DNI\n")
    for k in range(97):
        hour = k / 4
        dni = max(0.0, 900 * math.sin(math.pi * (hour - 5) / 15)) * (0.8 + 0.2 * math.cos(k))
        out.write(f"2024-06-{1 + k // 96:02} {k // 4 % 24:02}:{k % 4 * 15:02}:00,{dni if 5 < hour < 20 else 0.0!r}\n")

world = mosaik.World({
    "CSV": {"python": "mosaik_csv:CSV"},
    "PV": {"python": "mosaik_components.pv.pvsimulator:PVSimulator"},
    "Grid": {"python": "mosaik_components.pandapower:Simulator"},
    "Writer": {"python": "mosaik_csv_writer:CSVWriter"},
}, skip_greetings=True)
csv = world.start("CSV", sim_start=start, datafile=f"{folder}/weather.csv")
pv = world.start("PV", start_date=start, step_size=900)
grid = world.start("Grid", step_size=900)
writer = world.start("Writer", start_date=start, output_file=f"{folder}/mosaik.csv")

sun = csv.Weather()
panels = pv.PV.create(2, latitude=53, area=20000, efficiency=0.5, el_tilt=32, az_tilt=0)
network = grid.Grid(network_function="create_cigre_network_mv", params={})
table = writer.CSVWriter(buff_size=day)
bus = {c.eid: c for c in network.children}
for panel, at in zip(panels, ["Bus-5", "Bus-9"]):
    world.connect(sun, panel, ("DNI", "DNI[W/m2]"))
    world.connect(panel, bus[at], ("P[MW]", "P_gen[MW]"))
    world.connect(panel, table, "P[MW]")
for at in ["Bus-5", "Bus-9", "Bus-14"]:
    world.connect(bus[at], table, "Vm[pu]")
world.connect(bus["Bus-0"], table, "P[MW]")
world.run(until=day, print_progress=False)
