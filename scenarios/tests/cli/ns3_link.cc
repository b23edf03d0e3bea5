// One link on ns-3: packets at given times, a drop-tail queue, and a receiver that loses those of a list.
// Input: rate in b/s, delay in ns, packets that wait, bytes; number of packets with their times in ns;
// number of lost ones with their numbers from 1. Output: time and number of each packet received.
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include <cstring>
#include <iostream>
#include <set>
#include <sstream>

using namespace ns3;

static const uint32_t PPP = 2;

static uint64_t Number(Ptr<const Packet> packet, uint32_t header)
{
    uint8_t bytes[8 + PPP];
    packet->CopyData(bytes, header + 8);
    uint64_t number;
    std::memcpy(&number, bytes + header, 8);
    return number;
}

class Listed : public ErrorModel
{
  public:
    std::set<uint64_t> lost;

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        return lost.count(Number(packet, PPP)) > 0;
    }
    void DoReset() override {}
};

static bool Receive(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    std::cout << Simulator::Now().GetNanoSeconds() << ',' << Number(packet, 0) << '\n';
    return true;
}

static void Send(Ptr<NetDevice> from, Ptr<NetDevice> to, uint64_t number, uint32_t bytes)
{
    std::vector<uint8_t> content(bytes - PPP, 0);
    std::memcpy(content.data(), &number, 8);
    from->Send(Create<Packet>(content.data(), content.size()), to->GetAddress(), 0x0800);
}

int main()
{
    uint64_t rate, delay, room, bytes, count;
    std::cin >> rate >> delay >> room >> bytes >> count;
    NodeContainer nodes(2);
    PointToPointHelper link;
    std::ostringstream most;
    most << room << 'p';
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(most.str()));
    NetDeviceContainer ends = link.Install(nodes);
    for (uint64_t number = 1; number <= count; ++number)
    {
        uint64_t at;
        std::cin >> at;
        Simulator::Schedule(NanoSeconds(at), &Send, ends.Get(0), ends.Get(1), number, uint32_t(bytes));
    }
    Ptr<Listed> errors = CreateObject<Listed>();
    std::cin >> count;
    while (count-- > 0)
    {
        uint64_t number;
        std::cin >> number;
        errors->lost.insert(number);
    }
    ends.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    ends.Get(1)->SetReceiveCallback(MakeCallback(&Receive));
    Simulator::Run();
    Simulator::Destroy();
}
