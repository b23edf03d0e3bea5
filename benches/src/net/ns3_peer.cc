// The drop-tail bottleneck on ns-3: eight Poisson sources over UDP, 60 s. Events are packets sent,
// received by the router, and received by the collector.
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <cmath>
#include <ctime>
#include <iostream>
#include <sys/resource.h>

using namespace ns3;

static uint64_t sent = 0, relayed = 0, received = 0;

struct Stream
{
    Ptr<Socket> socket;
    uint64_t state;
    double time;

    void Plan()
    {
        state = state * 48271 % 2147483647;
        time += -0.008 * std::log(state / 2147483647.0);
        int64_t at = static_cast<int64_t>(time * 1e9);
        if (at <= 60000000000)
            Simulator::Schedule(NanoSeconds(at) - Simulator::Now(), &Stream::Send, this);
    }
    void Send()
    {
        socket->Send(Create<Packet>(256));
        ++sent;
        Plan();
    }
};

static void Receive(Ptr<Socket> socket)
{
    while (socket->Recv())
        ++received;
}

static void Relay(Ptr<const Packet>)
{
    ++relayed;
}

static double Elapsed(std::clock_t ticks)
{
    return static_cast<double>(ticks) / CLOCKS_PER_SEC;
}

int main()
{
    std::clock_t start = std::clock();
    NodeContainer sources(8), router(1), collector(1);
    InternetStackHelper().InstallAll();
    PointToPointHelper access, narrow;
    access.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    access.SetChannelAttribute("Delay", StringValue("1ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    narrow.SetDeviceAttribute("DataRate", StringValue("2Mbps"));
    narrow.SetChannelAttribute("Delay", StringValue("10ms"));
    narrow.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("20p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    TrafficControlHelper plain;
    for (uint32_t i = 0; i < 8; ++i)
    {
        NetDeviceContainer link = access.Install(sources.Get(i), router.Get(0));
        addresses.Assign(link);
        addresses.NewNetwork();
        plain.Uninstall(link);
        link.Get(1)->TraceConnectWithoutContext("MacRx", MakeCallback(&Relay));
    }
    NetDeviceContainer last = narrow.Install(router.Get(0), collector.Get(0));
    Ipv4InterfaceContainer ends = addresses.Assign(last);
    plain.Uninstall(last);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Ptr<Socket> sink = Socket::CreateSocket(collector.Get(0), UdpSocketFactory::GetTypeId());
    sink->SetAttribute("RcvBufSize", UintegerValue(1u << 30));
    sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    sink->SetRecvCallback(MakeCallback(&Receive));
    Stream streams[8];
    for (uint32_t i = 0; i < 8; ++i)
    {
        Ptr<Socket> socket = Socket::CreateSocket(sources.Get(i), UdpSocketFactory::GetTypeId());
        socket->Connect(InetSocketAddress(ends.GetAddress(1), 9));
        streams[i] = Stream{socket, 12345 + i, 0.1};
        streams[i].Plan();
    }
    std::clock_t built = std::clock();
    Simulator::Stop(Seconds(61.0));
    Simulator::Run();
    std::clock_t done = std::clock();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::cout << "{\"build_s\": " << Elapsed(built - start) << ", \"run_s\": " << Elapsed(done - built)
              << ", \"peak_bytes\": " << usage.ru_maxrss * 1024L
              << ", \"events\": " << sent + relayed + received << "}" << std::endl;
    Simulator::Destroy();
}
